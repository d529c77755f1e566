// Linear layers of up to 16 rows at the speed of memory (Hopper): weights stream through shared
// memory, rows stay in registers; with what stands before and after them in a draft (spec/drafter.md
// sections 3 to 5).
//
//   y = epilogue(prologue(x) W^T + bias)
//
// Up to three matrices share an input and follow each other (q, k and v; or gate and up as a pair).
// Prologue: RMSNorm of the rows, one rounding, its result also written to `normed`. Epilogues: store
// (multiplier and softcap as in linear.h); add to the residual stream, rne(residual + rne(sum)); or
// SwiGLU of a pair, rne(g * sigmoid(g) * u) of the rounded g and u.
//
// FP32 accumulation in an order that depends on k alone: a row has the same bits whatever other rows
// there are, and in every run. The launch is a programmatic dependent: it may begin, and stream its
// first weights, while the kernel before it still runs; it reads nothing else before that has ended.
//
// Near its end the kernel may fetch into L2 what the next one will stream first (`prefetch`), so that
// memory does not rest between the two.
//
// INVALID_ARGUMENT for sizes or pointers that cannot be, and for what this kernel does not take: more
// than 16 rows, k no multiple of 64, a norm over more than 5120 columns, more outputs of a long k than
// the device's blocks hold sums for, addresses that are no multiples of 16. Common rules of
// launchers: kernels/device/arguments.h. Thread-safe.
#ifndef DRAFTMARK_KERNELS_STREAM_LINEAR_STREAM_LINEAR_H_
#define DRAFTMARK_KERNELS_STREAM_LINEAR_STREAM_LINEAR_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct StreamPart {
  const BFloat16* weight = nullptr;  // [n, k]
  const BFloat16* bias = nullptr;    // [n]; may be null
  BFloat16* y = nullptr;             // [rows, n]; of a pair the first one's
  std::int64_t n = 0;
};

// Bytes [begin + block * stride, begin + block * stride + bytes) of each array, for blocks below
// `blocks`.
struct StreamPrefetch {
  const void* begin[2] = {};
  std::int64_t stride = 0;
  unsigned bytes = 0;  // 0: nothing
  unsigned blocks = 0;
};

enum class StreamEpilogue { kStore, kResidual, kSwiGlu };

struct StreamLinearArgs {
  const BFloat16* x = nullptr;  // [rows, k]
  std::int64_t rows = 0;
  std::int64_t k = 0;
  StreamPart parts[3];
  int part_count = 1;
  // Prologue: null for none.
  const BFloat16* norm_weight = nullptr;  // [k]
  float epsilon = 0;
  BFloat16* normed = nullptr;  // [rows, k]; may be null
  StreamEpilogue epilogue = StreamEpilogue::kStore;
  BFloat16* residual = nullptr;  // [rows, n], read and written; kResidual
  float multiplier = 1;          // kStore
  float softcap = 0;             // kStore; 0: none
  StreamPrefetch prefetch;
};

// Whether the kernel takes sizes and addresses, and the current device the kernel.
bool StreamLinearFits(const StreamLinearArgs& args);
// What a launch of `args` streams first, for the launch before it.
StreamPrefetch FirstWeightsOf(const StreamLinearArgs& args);
Status LaunchStreamLinear(const StreamLinearArgs& args, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_STREAM_LINEAR_STREAM_LINEAR_H_
