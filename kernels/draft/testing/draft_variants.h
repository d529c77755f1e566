// Small drafters of every kind, for the tests of whole drafts on the GPU.
#ifndef DRAFTMARK_KERNELS_DRAFT_TESTING_DRAFT_VARIANTS_H_
#define DRAFTMARK_KERNELS_DRAFT_TESTING_DRAFT_VARIANTS_H_

#include <ostream>
#include <string>
#include <vector>

#include "src/cases/generated_data.h"
#include "src/config/drafter_config.h"

namespace draftmark::kernels {

struct DraftVariant {
  std::string name;
  DrafterConfig config;
  DataGenerator generator;  // of its weights
};
inline void PrintTo(const DraftVariant& variant, std::ostream* os) { *os << variant.name; }

// Two layers, a causal one with a window of 9 keys and a full one. Where a name says "odd" no width
// is a multiple of 8, so that own kernels multiply everything; elsewhere every width is, so that
// cuBLASLt multiplies everything where it is allowed to.
//   dflash          softcap, sinks and a mask embedding; convention A
//   dflash_odd      attention biases, logit multiplier, embedding scale, sinks; convention B
//   dflash_heads    head_dim 32, ratio 4, no window, nothing causal; YaRN on a part of the head
//   dflash2         convolutions of 2 taps, selector
//   dflash2_odd     convolutions of 3 taps, selector
//   dspark_vanilla, dspark_gated, dspark_rnn   the three Markov heads with their confidence heads;
//                   gated without the embedding, rnn in convention A
//   dspark_odd      rnn, convention B
//   confidence      a confidence head without a Markov head
std::vector<DraftVariant> DraftVariants();
// One of them. Ends the process for an unknown name.
DraftVariant DraftVariantOf(const std::string& name);
// The same with widths that streaming chains take: multiples of 64.
DraftVariant WideDraftVariantOf(const std::string& name);
// For INSTANTIATE_TEST_SUITE_P over names.
std::vector<std::string> DraftVariantNames();

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_TESTING_DRAFT_VARIANTS_H_
