// The offsets of spec/buffer_sizes.md sections 7 and 8 in checked arithmetic, for any counts.
// Internal to src/scratch: sizing takes their ends, sub_layouts.h turns them into numbers.
#ifndef DRAFTMARK_SRC_SCRATCH_SUB_LAYOUT_FORMULAS_H_
#define DRAFTMARK_SRC_SCRATCH_SUB_LAYOUT_FORMULAS_H_

#include <cstdint>

#include "src/base/checked.h"
#include "src/config/sizing_fields.h"
#include "src/scratch/sizing_arguments.h"
#include "src/scratch/sub_layout_regions.h"

namespace draftmark {

// Which composites a config has. The conditions look at no other field (section 6, notes).
bool HasGdnFla(const SizingFields& c);
bool HasSsd(const SizingFields& c);
bool HasHcLowrank(const SizingFields& c);
bool HasQsa(const SizingFields& c);

// Chunks provisioned for m token rows.
std::uint64_t GdnFlaChunks(std::uint64_t m);
std::uint64_t SsdChunks(std::uint64_t m);

GdnFlaRegions<CheckedU64> GdnFlaFormula(const SizingFields& c, std::uint64_t chunks);
SsdRegions<CheckedU64> SsdFormula(const SizingFields& c, std::uint64_t chunks);
HcSplitRegions<CheckedU64> HcSplitFormula(const SizingFields& c, std::uint64_t tokens);
HcGemmRegions<CheckedU64> HcGemmFormula(const SizingFields& c, std::uint64_t tokens);
QsaSelectRegions<CheckedU64> QsaSelectFormula(const SizingFields& c, std::uint64_t context);
PrefillRegions<CheckedU64> PrefillFormula(const SizingFields& c, std::uint64_t tokens,
                                          CheckedU64 max_blocks);
DecodeRegions<CheckedU64> DecodeFormula(CheckedU64 rows, CheckedU64 max_blocks);
VerifyRegions<CheckedU64> VerifyFormula(CheckedU64 max_blocks);
BatchedPrefillRegions<CheckedU64> BatchedPrefillFormula(const SizingFields& c,
                                                        std::uint64_t streams,
                                                        std::uint64_t chunk_tokens);

// The four layouts of `scratch` at full capacity. They overlap on purpose: a pass uses one.
struct ScratchFormulas {
  CheckedU64 max_blocks;
  PrefillRegions<CheckedU64> prefill;
  DecodeRegions<CheckedU64> decode;
  VerifyRegions<CheckedU64> verify;
  BatchedPrefillRegions<CheckedU64> batched_prefill;

  static ScratchFormulas At(const SizingFields& c, const SizingArguments& a);
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_SUB_LAYOUT_FORMULAS_H_
