// Static facts of the linear operation: cuBLASLt's part and the own kernel's.
#ifndef DRAFTMARK_KERNELS_LINEAR_LINEAR_TRAITS_H_
#define DRAFTMARK_KERNELS_LINEAR_LINEAR_TRAITS_H_

#include <cstdint>

namespace draftmark::kernels {

struct LinearTraits {
  static constexpr int kMinimumArch = 80;

  // Own kernel
  static constexpr int kThreads = 256;
  static constexpr int kLanes = 8;  // of one output: a weight row is read 128 bytes at a time
  static constexpr int kOutputs = kThreads / kLanes;  // of a block
  static constexpr int kChunksAhead = 4;  // 16-byte loads of weights in flight for each lane
  static constexpr int kMostRows = 8;     // of a block; more rows read the weights again

  // The library wants dimensions that are multiples of this for its tensor-core kernels.
  static constexpr std::int64_t kLibraryMultiple = 8;
  static constexpr std::uint64_t kLibraryWorkspaceBytes = std::uint64_t{32} << 20;

  // The library's workspace, and behind it FP32 accumulators where an epilogue of ours follows.
  static constexpr std::uint64_t WorkspaceBytes(std::int64_t rows, std::int64_t n, bool epilogue) {
    return kLibraryWorkspaceBytes +
           (epilogue ? static_cast<std::uint64_t>(rows * n) * sizeof(float) : 0);
  }
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_LINEAR_LINEAR_TRAITS_H_
