// Selector walk: one block for each band, one warp for each candidate. Only the predecessor's code
// depends on the step before; the first 256 products of the rest are fetched a step ahead.
#ifndef DRAFTMARK_KERNELS_SELECTOR_WALK_SM80_SELECTOR_WALK_CUH_
#define DRAFTMARK_KERNELS_SELECTOR_WALK_SM80_SELECTOR_WALK_CUH_

#include <cmath>
#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/candidates.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/device/values.cuh"
#include "kernels/selector_walk/selector_walk.h"
#include "kernels/selector_walk/selector_walk_traits.h"
#include "src/faults/device_fault.cuh"

namespace draftmark::kernels {

// Of a mutant: the first choice of the best path over row `t` of a band and all later ones.
// `scores`: of its candidates. For all threads of the block; slow.
template <int kCandidates>
__device__ int ViterbiChoice(const SelectorWalkArgs& args, std::int64_t first_row, std::int64_t t,
                             const float* scores) {
  __shared__ float ahead[2][kCandidates];  // of the best path behind each candidate of a row
  const int candidate = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const auto id_of = [&](std::int64_t row, int k) {
    return min(std::int64_t{args.ids[row * kCandidates + k]}, args.v - 1);
  };
  if (lane == 0) ahead[args.band % 2][candidate] = 0;
  for (std::int64_t q = args.band - 1; q > t; --q) {
    __syncthreads();
    // From this candidate of row q - 1 to each one of row q.
    const std::int64_t row = first_row + q;
    const std::int64_t from = id_of(row - 1, candidate);
    float longest = -INFINITY;
    for (int k = 0; k < kCandidates; ++k) {
      const std::int64_t to = id_of(row, k);
      float sum = 0;
      for (int i = lane; i < args.r; i += kWarp) {
        sum += ToFloat(args.predecessor[from * args.r + i]) *
               ToFloat(args.hidden[row * args.r + i]) * ToFloat(args.successor[to * args.r + i]);
      }
      sum = LaneSum<kWarp>(sum) + args.values[row * kCandidates + k] + ahead[(q + 1) % 2][k];
      longest = fmaxf(longest, sum);
    }
    if (lane == 0) ahead[q % 2][candidate] = longest;
  }
  __syncthreads();
  int choice = 0;
  const float* const behind = ahead[(t + 1) % 2];
  for (int k = 1; k < kCandidates; ++k) {
    if (scores[k] + behind[k] > scores[choice] + behind[choice]) choice = k;
  }
  __syncthreads();
  return choice;
}

template <bool kVector>
__global__ void __launch_bounds__(SelectorWalkTraits::kThreads)
    SelectorWalkKernel(SelectorWalkArgs args) {
  LaunchDependents();
  WaitForPrevious();
  constexpr int kCandidates = SelectorWalkTraits::kCandidates;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int candidate = static_cast<int>(threadIdx.x) / kWarp;
  const int r = static_cast<int>(args.r);
  const std::int64_t first_row = blockIdx.x * args.band;
  // Two, so that one barrier a step is enough: a step's scores are read while the next are written.
  __shared__ float scores[2][kCandidates];

  // hidden * successor, exact: two BF16 numbers have 16 bits together.
  const auto products = [&](std::int64_t row, int column, float(&out)[kChunk]) {
    const std::uint32_t id = args.ids[row * kCandidates + candidate];
    float hidden[kChunk], code[kChunk];
    const int count = id < args.v ? r - column : 0;
    LoadChunk<kVector>(args.hidden + row * args.r + column, count, hidden);
    LoadChunk<kVector>(args.successor + (count > 0 ? id * args.r : 0) + column, count, code);
#pragma unroll
    for (int i = 0; i < kChunk; ++i) out[i] = hidden[i] * code[i];
  };

  std::uint32_t previous = args.anchors[blockIdx.x * args.anchor_step];
  if (threadIdx.x == 0) args.tokens[first_row] = previous;
  float ahead[kChunk];
  if (args.band > 1) products(first_row + 1, lane * kChunk, ahead);
  for (std::int64_t t = 1; t < args.band; ++t) {
    const std::int64_t row = first_row + t;
    const std::uint32_t id = args.ids[row * kCandidates + candidate];
    const bool known = id < args.v && previous < args.v;

    // Score of the candidate
    float sum = 0;
    const BFloat16* const gate = args.predecessor + (known ? previous * args.r : 0);
    for (int column = lane * kChunk; column < r; column += kWarp * kChunk) {
      float code[kChunk];
      LoadChunk<kVector>(gate + column, known ? r - column : 0, code);
      if (column != lane * kChunk) products(row, column, ahead);
#pragma unroll
      for (int i = 0; i < kChunk; ++i) sum = fmaf(code[i], ahead[i], sum);
    }
    sum = LaneSum<kWarp>(sum);
    if (lane == 0) {
      const float score =
          known ? args.values[row * kCandidates + candidate] + sum : FloatOf(kNanBits);
      scores[t % 2][candidate] = score;
      if (args.scores != nullptr) {
        // Bands before this one and its own row 0 have no scores for their anchors.
        args.scores[(row - blockIdx.x - 1) * kCandidates + candidate] = score;
      }
    }
    if (t + 1 < args.band) products(row + 1, lane * kChunk, ahead);
    __syncthreads();

    // The best, found by every thread for itself
    float best = kNoCandidate;
    int choice = 0;
#pragma unroll
    for (int k = 0; k < kCandidates; ++k) {
      if (scores[t % 2][k] > best) {
        best = scores[t % 2][k];
        choice = k;
      }
    }
    if (DM_DEVICE_FAULT(kSelectorArgMax)) choice = 0;  // the best logit
    if (DM_DEVICE_FAULT(kSelectorViterbi)) {
      choice = ViterbiChoice<kCandidates>(args, first_row, t, scores[t % 2]);
    }
    previous = args.ids[row * kCandidates + choice];
    if (threadIdx.x == 0) args.tokens[row] = previous;
  }
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_SELECTOR_WALK_SM80_SELECTOR_WALK_CUH_
