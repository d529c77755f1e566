// Argmax in two steps: the best key of each piece of a row, then the best of a row's keys. A key
// holds value and id, so the order in which pieces are compared does not matter. A thread compares
// whole chunks of eight; which of the best chunk's elements it was, is looked up at the end.
#ifndef DRAFTMARK_KERNELS_ARGMAX_SM80_ARGMAX_CUH_
#define DRAFTMARK_KERNELS_ARGMAX_SM80_ARGMAX_CUH_

#include <cstdint>

#include "kernels/argmax/argmax.h"
#include "kernels/argmax/argmax_traits.h"
#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/candidates.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/device/values.cuh"
#include "src/faults/device_fault.cuh"

namespace draftmark::kernels {

// The greater of each half; a number, if one of them is.
__device__ __forceinline__ std::uint32_t GreaterOfPairs(std::uint32_t a, std::uint32_t b) {
  std::uint32_t greater;
  asm("max.bf16x2 %0, %1, %2;\n" : "=r"(greater) : "r"(a), "r"(b));
  return greater;
}
__device__ __forceinline__ float GreatestOf(const uint4& chunk) {
  const std::uint32_t pair =
      GreaterOfPairs(GreaterOfPairs(chunk.x, chunk.y), GreaterOfPairs(chunk.z, chunk.w));
  return fmaxf(FloatOf(pair & 0xFFFFu), FloatOf(pair >> 16));
}

// Grid: (pieces, rows), a piece of `elements` each. Writes keys[row, piece].
__global__ void __launch_bounds__(ArgmaxTraits::kThreads)
    ArgmaxPieceKernel(ArgmaxArgs args, int elements, CandidateKey* keys) {
  LaunchDependents();
  WaitForPrevious();
  constexpr int kThreads = ArgmaxTraits::kThreads;
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t row = blockIdx.y;
  const std::int64_t begin = std::int64_t{blockIdx.x} * elements;
  const int count =
      static_cast<int>(max(std::int64_t{0}, min(args.v - begin, std::int64_t{elements})));
  const BFloat16* const piece = args.logits + row * args.row_stride + begin;
  // Single elements in front of the chunks and behind them, at most 7 each
  const int head = HeadElements(piece, count);
  const int chunks = (count - head) / kChunk;
  const int tail = head + chunks * kChunk;

  // A thread meets its ids in ascending order, so that "greater" alone keeps the lowest of a tie; the
  // first id stands for a chunk.
  float best = kNoCandidate;
  int first = -1;
  const auto visit = [&](float value, int index) {
    if (value > best) {  // NaN is not
      best = value;
      first = index;
    }
  };
  if (thread < head) visit(ToFloat(piece[thread]), thread);
  const auto* const vectors = reinterpret_cast<const uint4*>(piece + head);
#pragma unroll 4
  for (int chunk = thread; chunk < chunks; chunk += kThreads) {
    visit(GreatestOf(vectors[chunk]), head + chunk * kChunk);
  }
  if (tail + thread < count) visit(ToFloat(piece[tail + thread]), tail + thread);

  // Best of the block
  __shared__ CandidateKey of_warp[kThreads / kWarp];
  const std::uint32_t code = first < 0 ? 0 : CandidateCode(Round(best).bits);
  CandidateKey key = WarpGreatest(KeyOf(code, static_cast<std::uint32_t>(max(first, 0))));
  if (thread % kWarp == 0) of_warp[thread / kWarp] = key;
  __syncthreads();
  if (thread >= kWarp) return;
  key = WarpGreatest(thread < kThreads / kWarp ? of_warp[thread] : 0);
  // The last piece is forgotten: what the workspace holds there, nobody wrote.
  if (DM_DEVICE_FAULT(kUninitialisedWorkspace) && blockIdx.x + 1 == gridDim.x) return;
  // A lane looks at an element of the best chunk.
  auto found = static_cast<int>(IdOfKey(key));
  if (key != 0 && found >= head && found < tail) {
    const bool same =
        thread < kChunk && CandidateCode(piece[found + thread].bits) == CodeOfKey(key);
    const unsigned lanes = __ballot_sync(kAllLanes, same);
    found += DM_DEVICE_FAULT(kWrongTieRule) ? 31 - __clz(lanes) : __ffs(lanes) - 1;
  }
  if (thread == 0) {
    keys[row * gridDim.x + blockIdx.x] =
        key == 0 ? 0 : KeyOf(CodeOfKey(key), static_cast<std::uint32_t>(begin + found));
  }
}

// One warp for each row: of its `pieces` keys, piece_step apart.
__global__ void ArgmaxRowKernel(const CandidateKey* keys, int pieces, int row_step, int piece_step,
                                std::uint32_t* tokens, std::int64_t token_step) {
  LaunchDependents();
  WaitForPrevious();
  const std::int64_t row = blockIdx.x;
  CandidateKey key = 0;
#pragma unroll 5
  for (int piece = static_cast<int>(threadIdx.x); piece < pieces; piece += kWarp) {
    key = Greater(key, keys[row * row_step + std::int64_t{piece} * piece_step]);
  }
  key = WarpGreatest(key);
  if (threadIdx.x == 0) tokens[row * token_step] = key == 0 ? 0 : IdOfKey(key);
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_ARGMAX_SM80_ARGMAX_CUH_
