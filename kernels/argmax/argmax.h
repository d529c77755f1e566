// The greatest logit of each row (spec/drafter.md section 5).
//
// Ties go to the lowest id; NaN is never selected; a row with nothing above -1e30 yields 0. Logits
// are compared as the BF16 numbers that they are. Row r's token goes to tokens[r * token_step].
// INVALID_ARGUMENT for sizes, pointers or a workspace that cannot be. Common rules of launchers:
// kernels/device/arguments.h. Thread-safe.
#ifndef DRAFTMARK_KERNELS_ARGMAX_ARGMAX_H_
#define DRAFTMARK_KERNELS_ARGMAX_ARGMAX_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct ArgmaxArgs {
  const BFloat16* logits = nullptr;  // [rows, v], row_stride apart
  std::uint32_t* tokens = nullptr;   // [rows], token_step apart
  std::int64_t rows = 0;
  std::int64_t v = 0;
  std::int64_t row_stride = 0;  // elements; 0: v
  std::int64_t token_step = 1;
  void* workspace = nullptr;  // ArgmaxTraits::WorkspaceBytes
  std::uint64_t workspace_bytes = 0;
};

Status LaunchArgmax(const ArgmaxArgs& args, cudaStream_t stream);

// The second half alone, of keys that whoever made the logits left (StreamLinear::row_best): the greatest of a
// row's `parts` keys, which lie `rows_apart` of them apart.
struct BestOfRowsArgs {
  const std::uint64_t* keys = nullptr;  // [parts, rows_apart]
  std::uint32_t* tokens = nullptr;      // [rows]
  std::int64_t rows = 0;
  std::int64_t parts = 0;
  std::int64_t rows_apart = 0;
};
Status LaunchBestOfRows(const BestOfRowsArgs& args, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_ARGMAX_ARGMAX_H_
