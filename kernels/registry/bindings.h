// What the bindings share: cases and operands as the launchers' arguments. Internal to this folder.
#ifndef DRAFTMARK_KERNELS_REGISTRY_BINDINGS_H_
#define DRAFTMARK_KERNELS_REGISTRY_BINDINGS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/registry/device_operations.h"

namespace draftmark::kernels {

inline std::int64_t Size(const OperationCase& c, std::string_view key) {
  return static_cast<std::int64_t>(c[key]);
}
inline float Scalar(const OperationCase& c, std::string_view attribute) {
  return static_cast<float>(c.operation->attribute(attribute));
}
inline std::uint64_t NoWorkspace(const OperationCase& /*c*/) { return 0; }

// By subject.
std::vector<DeviceOperation> LayerBindings();  // projections, norms, elementwise, convolutions
std::vector<DeviceOperation> CacheBindings();
std::vector<DeviceOperation> TokenBindings();
std::vector<DeviceOperation> HeadBindings();

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_REGISTRY_BINDINGS_H_
