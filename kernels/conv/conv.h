// Grouped dynamic causal convolution of DFlash2 (spec/drafter.md section 7.1), both sides: the
// operations conv_prepare and conv_finish.
//
//   out[t, c] = rne(sum over o < taps, o <= t, of
//                   (base[side, o, c] + dynamic[t, side, o, c / group]) * x[t - o, c])
//
// t counts inside the band: every `band` rows start anew and taps before row 0 read zero. FP32 sum
// of the coefficients, FP32 accumulation in the order of the taps, one rounding. out must not alias
// x. INVALID_ARGUMENT for sizes or pointers that cannot be. Common rules of launchers:
// kernels/device/arguments.h. Thread-safe.
#ifndef DRAFTMARK_KERNELS_CONV_CONV_H_
#define DRAFTMARK_KERNELS_CONV_CONV_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

enum class ConvSide {
  kPrepare = 0,  // what feeds the sublayer
  kFinish = 1,   // the sublayer's output
};

struct ConvArgs {
  ConvSide side = ConvSide::kPrepare;
  const BFloat16* x = nullptr;        // [rows, h]
  const BFloat16* dynamic = nullptr;  // [rows, 2, taps, h / group]
  const BFloat16* base = nullptr;     // [2, taps, h]
  BFloat16* out = nullptr;            // [rows, h]
  std::int64_t rows = 0;
  std::int64_t h = 0;
  std::int64_t taps = 0;
  std::int64_t group = 0;  // channels that share a dynamic coefficient; divides h
  std::int64_t band = 0;   // rows of a band; divides rows
};

Status LaunchConv(const ConvArgs& args, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_CONV_CONV_H_
