// The registry's operations on the GPU: a table from names to launchers, and one case run whole.
//
//   DM_ASSIGN_OR_RETURN(const OperandValues got,
//                       RunOnDevice(c, operands, {.allocator = &allocator, .cublaslt = gemm.get(),
//                                                 .stream = stream.get()}));
//
// RunOnDevice is what conformance judges (CheckOperation); benchmarks upload once and launch many
// times. The table is immutable; functions are thread-safe where allocator and library are.
#ifndef DRAFTMARK_KERNELS_REGISTRY_DEVICE_OPERATIONS_H_
#define DRAFTMARK_KERNELS_REGISTRY_DEVICE_OPERATIONS_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/registry/device_operands.h"
#include "src/base/status.h"
#include "src/cuda/cublaslt.h"
#include "src/operations/operation.h"
#include "src/scratch/allocator.h"

namespace draftmark::kernels {

// What a launch gets besides its operands.
struct LaunchContext {
  void* workspace = nullptr;  // DeviceOperation::workspace_bytes, aligned to 256
  std::uint64_t workspace_bytes = 0;
  CublasLt* cublaslt = nullptr;  // null: own kernels only
  cudaStream_t stream = nullptr;
  bool generic = false;  // the kernels of every GPU, also where there are others
};

struct DeviceOperation {
  std::string_view name;  // of the registry's operation
  // What a launch of the case needs besides its operands.
  std::function<std::uint64_t(const OperationCase& c)> workspace_bytes = nullptr;
  // Enqueues the case's kernels. Neither allocates nor waits.
  std::function<Status(const OperationCase& c, const DeviceOperands& operands,
                       const LaunchContext& context)>
      launch = nullptr;
};

// By subject.
std::span<const DeviceOperation> DeviceOperations();
// Null if there is none.
const DeviceOperation* FindDeviceOperation(std::string_view name);

struct DeviceContext {
  Allocator* allocator = nullptr;
  CublasLt* cublaslt = nullptr;  // null: own kernels only
  cudaStream_t stream = nullptr;
  Placement placement = {};
  bool generic = false;
};

// Bytes of the operands that the operation writes, by name.
using OutputBytes = std::map<std::string, std::vector<std::byte>, std::less<>>;

// Uploads, launches, waits, and downloads the outputs, as float64 or as they are. Errors: those of
// allocator and launcher; UNIMPLEMENTED for an operation without a kernel; INTERNAL if a kernel
// wrote where it must not (guards around operands and workspace, operands that are only read).
StatusOr<OperandValues> RunOnDevice(const OperationCase& c, const OperandSet& operands,
                                    const DeviceContext& context);
StatusOr<OutputBytes> RunOnDeviceToBytes(const OperationCase& c, const OperandSet& operands,
                                         const DeviceContext& context);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_REGISTRY_DEVICE_OPERATIONS_H_
