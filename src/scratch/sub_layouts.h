// Where the regions of the composite buffers lie: at full capacity, and for the smaller counts of
// one call.
//
//   DM_ASSIGN_OR_RETURN(const SubLayouts layouts, SubLayouts::Create(fields, arguments));
//   layouts.prefill.slots;                                       // at capacity
//   DM_ASSIGN_OR_RETURN(const PrefillLayout chunk, layouts.PrefillFor(37));   // of 37 tokens
//
// Rules: spec/buffer_sizes.md sections 7 and 8. All offsets are bytes from the start of the buffer.
// Kernels lay regions out with the counts of the call, so offsets shrink with the call; whatever a
// ...For function returns ends inside the capacity. Counts of 0 or above the capacity are
// OUT_OF_RANGE, a layout that the config does not have is FAILED_PRECONDITION; both name it.
// A plain value type.
#ifndef DRAFTMARK_SRC_SCRATCH_SUB_LAYOUTS_H_
#define DRAFTMARK_SRC_SCRATCH_SUB_LAYOUTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/config/sizing_fields.h"
#include "src/scratch/sizing_arguments.h"
#include "src/scratch/sub_layout_regions.h"

namespace draftmark {

using GdnFlaLayout = GdnFlaRegions<std::uint64_t>;
using SsdLayout = SsdRegions<std::uint64_t>;
using QsaSelectLayout = QsaSelectRegions<std::uint64_t>;
using HcSplitLayout = HcSplitRegions<std::uint64_t>;
using HcGemmLayout = HcGemmRegions<std::uint64_t>;
using PrefillLayout = PrefillRegions<std::uint64_t>;
using DecodeLayout = DecodeRegions<std::uint64_t>;
using VerifyLayout = VerifyRegions<std::uint64_t>;
using BatchedPrefillLayout = BatchedPrefillRegions<std::uint64_t>;

// Decode of one sequence uses fixed places (section 7): position U32, slot I64, length I32, LoRA
// slot I32, block table I32 [max_blocks].
struct SingleDecodeLayout {
  std::uint64_t position = 32768;
  std::uint64_t slot = 32768 + 8;
  std::uint64_t seq_len = 32768 + 16;
  std::uint64_t seq_slot = 32768 + 128;
  std::uint64_t block_table = 32768 + 256;
};

// "gdn_fla_scratch.uc" and its value.
using NamedOffset = std::pair<std::string, std::uint64_t>;

struct SubLayouts {
  // At full capacity. A composite that is absent, a placeholder or 0 bytes long has no layout.
  std::optional<GdnFlaLayout> gdn_fla;
  std::optional<SsdLayout> ssd;
  std::optional<QsaSelectLayout> qsa_select;
  std::optional<HcSplitLayout>
      hc_split;  // both hc layouts or none; they exclude each other in time
  std::optional<HcGemmLayout> hc_gemm;
  std::uint64_t max_blocks = 0;  // entries of a block table
  PrefillLayout prefill;
  DecodeLayout decode;
  VerifyLayout verify;
  BatchedPrefillLayout batched_prefill;
  // What they were made from.
  SizingFields fields;
  SizingArguments arguments;

  // OUT_OF_RANGE, naming the layout, if an offset exceeds 2^64-1. Cannot fail if
  // BufferSizes::FromConfig succeeds.
  static StatusOr<SubLayouts> Create(const SizingFields& fields, const SizingArguments& arguments);

  // All of them under the keys of the oracle rows' `sub_offsets`, in the rows' order.
  std::vector<NamedOffset> Offsets() const;

  // `streams` sequences of `tokens` tokens each need streams * cdiv(tokens, 64) chunks.
  StatusOr<GdnFlaLayout> GdnFlaFor(std::uint64_t streams, std::uint64_t tokens) const;
  StatusOr<SsdLayout> SsdFor(std::uint64_t chunks) const;
  StatusOr<HcSplitLayout> HcSplitFor(std::uint64_t tokens) const;
  StatusOr<HcGemmLayout> HcGemmFor(std::uint64_t tokens) const;
  StatusOr<QsaSelectLayout> QsaSelectFor(std::uint64_t context) const;
  StatusOr<PrefillLayout> PrefillFor(std::uint64_t tokens) const;
  StatusOr<DecodeLayout> DecodeFor(std::uint64_t rows) const;
  StatusOr<BatchedPrefillLayout> BatchedPrefillFor(std::uint64_t streams,
                                                   std::uint64_t chunk_tokens) const;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_SUB_LAYOUTS_H_
