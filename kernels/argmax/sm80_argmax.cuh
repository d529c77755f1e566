// Argmax in two steps: the best key of each piece of a row, then the best of a row's keys. A key
// holds value and id, so the order in which pieces are compared does not matter.
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

// Grid: (pieces, rows). Writes keys[row, piece].
__global__ void __launch_bounds__(ArgmaxTraits::kThreads)
    ArgmaxPieceKernel(ArgmaxArgs args, CandidateKey* keys) {
  LaunchDependents();
  WaitForPrevious();
  constexpr int kThreads = ArgmaxTraits::kThreads;
  constexpr int kPiece = static_cast<int>(ArgmaxTraits::kPieceElements);
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t row = blockIdx.y;
  const std::int64_t begin = std::int64_t{blockIdx.x} * kPiece;
  const std::int64_t left = args.v - begin;
  const int count = left < kPiece ? static_cast<int>(left) : kPiece;
  const BFloat16* const piece = args.logits + row * args.row_stride + begin;

  // A thread meets its ids in ascending order, so that "greater" alone keeps the lowest of a tie.
  std::uint32_t best_code = 0;
  int best = 0;
  const auto visit = [&](std::uint32_t bits, int index) {
    const std::uint32_t code = CandidateCode(bits);
    if (code > best_code) {
      best_code = code;
      best = index;
    }
  };
  const int head = HeadElements(piece, count);
  if (thread < head) visit(piece[thread].bits, thread);
  const int chunks = (count - head) / kChunk;
#pragma unroll 2
  for (int chunk = thread; chunk < chunks; chunk += kThreads) {
    const int first = head + chunk * kChunk;
    const uint4 raw = *reinterpret_cast<const uint4*>(piece + first);
    const std::uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      visit(words[i] & 0xFFFFu, first + 2 * i);
      visit(words[i] >> 16, first + 2 * i + 1);
    }
  }
  const int tail = head + chunks * kChunk + thread;
  if (tail < count) visit(piece[tail].bits, tail);

  // Best of the block
  __shared__ CandidateKey of_warp[kThreads / kWarp];
  CandidateKey key = KeyOf(best_code, static_cast<std::uint32_t>(begin + best));
  key = WarpGreatest(key);
  if (thread % kWarp == 0) of_warp[thread / kWarp] = key;
  __syncthreads();
  if (thread >= kWarp) return;
  key = WarpGreatest(thread < kThreads / kWarp ? of_warp[thread] : 0);
  // The last piece is forgotten: what the workspace holds there, nobody wrote.
  if (DM_DEVICE_FAULT(kUninitialisedWorkspace) && blockIdx.x + 1 == gridDim.x) return;
  if (thread == 0) keys[row * gridDim.x + blockIdx.x] = key;
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
