// Dynamic convolution: one thread for eight neighbouring channels of a row that share their dynamic
// coefficients, or for one channel where groups or addresses do not allow that.
#ifndef DRAFTMARK_KERNELS_CONV_SM80_CONV_CUH_
#define DRAFTMARK_KERNELS_CONV_SM80_CONV_CUH_

#include <cstdint>

#include "kernels/conv/conv.h"
#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/values.cuh"
#include "src/faults/device_fault.cuh"

namespace draftmark::kernels {

template <bool kVector>
__global__ void ConvKernel(ConvArgs args) {
  LaunchDependents();
  WaitForPrevious();
  constexpr int kWidth = kVector ? kChunk : 1;
  const std::int64_t channel = (std::int64_t{blockIdx.y} * blockDim.x + threadIdx.x) * kWidth;
  if (channel >= args.h) return;
  const std::int64_t row = blockIdx.x;
  const std::int64_t row_in_band = row % args.band;
  const std::int64_t groups = args.h / args.group;
  const bool swapped = DM_DEVICE_FAULT(kConvSidesSwapped);
  const std::int64_t side = (args.side == ConvSide::kFinish) != swapped ? 1 : 0;
  const BFloat16* const base = args.base + side * args.taps * args.h + channel;
  const BFloat16* const dynamic =
      args.dynamic + (row * 2 + side) * args.taps * groups + channel / args.group;
  const BFloat16* const x = args.x + row * args.h + channel;

  float sum[kChunk] = {};
  std::int64_t last = row_in_band;
  if (DM_DEVICE_FAULT(kConvCrossesBands)) last = row;
  if (DM_DEVICE_FAULT(kConvNotReset)) last = args.band - 1;
  for (std::int64_t tap = 0; tap < args.taps && tap <= last; ++tap) {
    std::int64_t back = tap;  // rows
    if (DM_DEVICE_FAULT(kConvNotReset) && tap > row_in_band) back -= args.band;
    const std::int64_t other = DM_DEVICE_FAULT(kConvWrongRow) ? tap * 2 * args.taps * groups : 0;
    const float moved = ToFloat(dynamic[tap * groups - other]);
    float fixed[kChunk], value[kChunk];
    LoadBegun<kVector>(base + tap * args.h, kWidth, fixed);
    LoadBegun<kVector>(x - back * args.h, kWidth, value);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) sum[i] = fmaf(fixed[i] + moved, value[i], sum[i]);
  }
  StoreChunk<kVector>(args.out + row * args.h + channel, kWidth, sum);
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_CONV_SM80_CONV_CUH_
