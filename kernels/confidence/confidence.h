// The confidence logit of each row (spec/drafter.md section 6.2):
// kappa = rne(w . [hidden; embedding] + bias), one FP32 sum, one rounding.
//
// r = 0 is a head that reads the hidden row alone. INVALID_ARGUMENT for sizes or pointers that
// cannot be. Common rules of launchers: kernels/device/arguments.h. Thread-safe.
#ifndef DRAFTMARK_KERNELS_CONFIDENCE_CONFIDENCE_H_
#define DRAFTMARK_KERNELS_CONFIDENCE_CONFIDENCE_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct ConfidenceArgs {
  const BFloat16* hidden = nullptr;     // [rows, h], row_step rows apart
  const BFloat16* embedding = nullptr;  // [rows, r]: what the Markov step of the row read
  const BFloat16* proj = nullptr;       // [h + r]
  const BFloat16* bias = nullptr;       // [1]
  BFloat16* kappa = nullptr;            // [rows], row_step apart
  std::int64_t rows = 0;
  std::int64_t h = 0;
  std::int64_t r = 0;
  std::int64_t row_step = 1;  // the width of a band: one step of every band
};

Status LaunchConfidence(const ConfidenceArgs& args, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_CONFIDENCE_CONFIDENCE_H_
