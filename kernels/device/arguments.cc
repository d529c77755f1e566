#include "kernels/device/arguments.h"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "fmt/format.h"
#include "src/cuda/cuda_status.h"

namespace draftmark::kernels {
namespace {

constexpr std::uintptr_t kVectorBytes = 16;
constexpr std::int64_t kVectorElements = 8;  // BF16
constexpr std::uintptr_t kWorkspaceAlignment = 256;

bool Aligned(const void* pointer, std::uintptr_t alignment) {
  return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

}  // namespace

ArgumentCheck& ArgumentCheck::Refuse(std::string reason) {
  if (status_.ok()) status_ = InvalidArgumentError(fmt::format("{}: {}", operation_, reason));
  return *this;
}

ArgumentCheck& ArgumentCheck::Size(std::string_view name, std::int64_t value, std::int64_t least,
                                   std::int64_t most) {
  if (value >= least && value <= most) return *this;
  return Refuse(fmt::format("expected {} in [{}, {}], found {}", name, least, most, value));
}

ArgumentCheck& ArgumentCheck::Pointer(std::string_view name, const void* pointer) {
  return pointer != nullptr ? *this : Refuse(fmt::format("{} is null", name));
}

ArgumentCheck& ArgumentCheck::Rule(bool holds, std::string_view rule) {
  return holds ? *this : Refuse(fmt::format("does not hold: {}", rule));
}

ArgumentCheck& ArgumentCheck::Workspace(const void* workspace, std::uint64_t bytes,
                                        std::uint64_t needed) {
  if (needed == 0) return *this;
  if (workspace == nullptr || bytes < needed) {
    return Refuse(fmt::format("expected a workspace of {} bytes, found {}", needed,
                              workspace == nullptr ? 0 : bytes));
  }
  return Rule(Aligned(workspace, kWorkspaceAlignment), "the workspace is aligned to 256 bytes");
}

Status LaunchStatus(std::string_view operation) {
  return CudaStatus(cudaGetLastError(), fmt::format("launch of {}", operation));
}

bool CanVectorise(std::initializer_list<const void*> pointers,
                  std::initializer_list<std::int64_t> widths) {
  return std::all_of(pointers.begin(), pointers.end(),
                     [](const void* pointer) { return Aligned(pointer, kVectorBytes); }) &&
         std::all_of(widths.begin(), widths.end(),
                     [](std::int64_t width) { return width % kVectorElements == 0; });
}

}  // namespace draftmark::kernels
