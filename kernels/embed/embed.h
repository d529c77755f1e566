// Embedding rows of a block (spec/drafter.md section 2): out[i] = rne(table[ids[i]] * scale).
//
// Mask rows take `mask_embedding` where a checkpoint ships one: those behind the first of each band,
// or, without `band`, those whose id is `mask_token`. The scale is one
// FP32 product and one rounding; 1 copies. An id outside the vocabulary gives a row of NaN: nothing
// foreign is read, and it shows. With row_sums (of at most 16 rows) the sums of squares of what is
// written are left for an RMSNorm that another kernel does. INVALID_ARGUMENT for sizes or pointers that cannot be. Common rules
// of launchers: kernels/device/arguments.h. Thread-safe.
#ifndef DRAFTMARK_KERNELS_EMBED_EMBED_H_
#define DRAFTMARK_KERNELS_EMBED_EMBED_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/slot_fill/slot_fill.h"
#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct EmbedArgs {
  const std::uint32_t* ids = nullptr;        // [rows]
  const BFloat16* table = nullptr;           // [vocabulary, h]
  const BFloat16* mask_embedding = nullptr;  // [h]; may be null
  std::uint32_t mask_token = 0;              // only with mask_embedding and without band
  float scale = 1;
  BFloat16* out = nullptr;  // [rows, h]
  std::int64_t rows = 0;
  std::int64_t vocabulary = 0;
  std::int64_t h = 0;
  std::int64_t band = 0;      // rows of a band; 0: masks are known by their id
  float* row_sums = nullptr;  // [EmbedTraits::SumParts(h), 16], FP32; may be null
};

Status LaunchEmbed(const EmbedArgs& args, cudaStream_t stream);

// And the cache slots of the same rows (kernels/slot_fill), in one launch.
Status LaunchEmbedWithSlots(const EmbedArgs& args, const SlotFillArgs& fill, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_EMBED_EMBED_H_
