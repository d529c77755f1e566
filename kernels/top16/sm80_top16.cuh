// Top 16 in two steps: the sorted best of each piece of a row, then a merge of a row's lists.
//
// Within a piece a candidate is one 32-bit number, code above index, all different: a warp finds its
// best by one reduction instruction, and sixteen rounds sort. No step depends on timing.
#ifndef DRAFTMARK_KERNELS_TOP16_SM80_TOP16_CUH_
#define DRAFTMARK_KERNELS_TOP16_SM80_TOP16_CUH_

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/candidates.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/device/values.cuh"
#include "kernels/top16/top16.h"
#include "kernels/top16/top16_traits.h"
#include "src/faults/device_fault.cuh"

namespace draftmark::kernels {

// The candidate of an element of a piece; a lower index sorts before a higher one.
__device__ __forceinline__ std::uint32_t PieceKey(std::uint32_t bits, int index) {
  const std::uint32_t code = CandidateCode(bits);
  return code == 0 ? 0 : code << 16 | (0xFFFFu - static_cast<std::uint32_t>(index));
}
__device__ __forceinline__ std::uint32_t IndexOfPieceKey(std::uint32_t key) {
  return 0xFFFFu - (key & 0xFFFFu);
}

// Takes the sixteen greatest of the warp's keys out, in order; `found(round, key)` is called by all
// lanes. Keys of a warp are different but for 0, which stands for nothing.
template <int kKeys, typename Found>
__device__ __forceinline__ void SortOut(std::uint32_t (&keys)[kKeys], const Found& found) {
  std::uint32_t own = 0;
#pragma unroll
  for (int i = 0; i < kKeys; ++i) own = max(own, keys[i]);
  for (int round = 0; round < Top16Traits::kTop; ++round) {
    const std::uint32_t best = __reduce_max_sync(kAllLanes, own);
    found(round, best);
    if (best != 0 && own == best) {
      own = 0;
#pragma unroll
      for (int i = 0; i < kKeys; ++i) {
        if (keys[i] == best) keys[i] = 0;
        own = max(own, keys[i]);
      }
    }
    __syncwarp();
  }
}

// Grid: (pieces, rows). Writes lists[row, piece, 16], best first, 0 behind the last candidate.
__global__ void __launch_bounds__(Top16Traits::kThreads)
    Top16PieceKernel(Top16Args args, CandidateKey* lists) {
  LaunchDependents();
  WaitForPrevious();
  constexpr int kThreads = Top16Traits::kThreads;
  constexpr int kWarps = kThreads / kWarp;
  constexpr int kTop = Top16Traits::kTop;
  constexpr int kPiece = static_cast<int>(Top16Traits::kPieceElements);
  constexpr int kChunks = kPiece / kChunk / kThreads;  // of each thread
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarp;
  const int lane = thread % kWarp;
  const std::int64_t row = blockIdx.y;
  const std::int64_t begin = std::int64_t{blockIdx.x} * kPiece;
  const std::int64_t left = args.v - begin;
  const int count = left < kPiece ? static_cast<int>(left) : kPiece;
  const BFloat16* const piece = args.logits + row * args.v + begin;

  // Elements of this thread: whole chunks, and one each of the unaligned head and of the tail
  std::uint32_t keys[kChunks * kChunk + 2] = {};
  const int head = HeadElements(piece, count);
  const int chunks = (count - head) / kChunk;
#pragma unroll
  for (int c = 0; c < kChunks; ++c) {
    const int chunk = thread + c * kThreads;
    if (chunk >= chunks) continue;
    const int first = head + chunk * kChunk;
    const uint4 raw = *reinterpret_cast<const uint4*>(piece + first);
    const std::uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      keys[c * kChunk + 2 * i] = PieceKey(words[i] & 0xFFFFu, first + 2 * i);
      keys[c * kChunk + 2 * i + 1] = PieceKey(words[i] >> 16, first + 2 * i + 1);
    }
  }
  if (thread < head) keys[kChunks * kChunk] = PieceKey(piece[thread].bits, thread);
  const int tail = head + chunks * kChunk + thread;
  if (tail < count) keys[kChunks * kChunk + 1] = PieceKey(piece[tail].bits, tail);

  // Each warp sorts its own, one warp sorts theirs
  __shared__ std::uint32_t of_warp[kWarps * kTop];
  SortOut(keys, [&](int round, std::uint32_t key) {
    if (lane == 0) of_warp[warp * kTop + round] = key;
  });
  __syncthreads();
  if (warp > 0) return;
  std::uint32_t finalists[kWarps * kTop / kWarp];
#pragma unroll
  for (int i = 0; i < kWarps * kTop / kWarp; ++i) finalists[i] = of_warp[lane + i * kWarp];
  CandidateKey* const list = lists + (row * gridDim.x + blockIdx.x) * kTop;
  SortOut(finalists, [&](int round, std::uint32_t key) {
    if (lane != 0) return;
    list[round] = KeyOf(key >> 16, static_cast<std::uint32_t>(begin) + IndexOfPieceKey(key));
  });
}

// One warp for each row: a lane walks the sorted lists of every 32nd piece.
__global__ void Top16RowKernel(Top16Args args, const CandidateKey* lists, int pieces) {
  LaunchDependents();
  WaitForPrevious();
  constexpr int kTop = Top16Traits::kTop;
  extern __shared__ unsigned char taken[];  // how far each list is used up; a lane's own entries
  const std::int64_t row = blockIdx.x;
  const int lane = static_cast<int>(threadIdx.x);
  const CandidateKey* const own = lists + row * pieces * kTop;
  for (int piece = lane; piece < pieces; piece += kWarp) taken[piece] = 0;
  for (int round = 0; round < kTop; ++round) {
    CandidateKey key = 0;
    int from = 0;
    for (int piece = lane; piece < pieces; piece += kWarp) {
      if (taken[piece] == kTop) continue;
      const CandidateKey next = own[piece * kTop + taken[piece]];
      if (next > key) {
        key = next;
        from = piece;
      }
    }
    const CandidateKey best = WarpGreatest(key);
    if (best != 0 && key == best) ++taken[from];
    if (lane == 0) {
      args.values[row * kTop + round] = best == 0 ? kNoCandidate : ValueOfCode(CodeOfKey(best));
      args.ids[row * kTop + round] = best == 0 ? 0 : IdOfKey(best);
      if (DM_DEVICE_FAULT(kLogitsLeftOverwritten) && best != 0) {
        const_cast<BFloat16*>(args.logits)[row * args.v + IdOfKey(best)] = Round(kNoCandidate);
      }
    }
    __syncwarp();
  }
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_TOP16_SM80_TOP16_CUH_
