#include "kernels/draft/testing/draft_variants.h"

#include <utility>

#include "src/base/check.h"
#include "src/weights/random_drafter.h"

namespace draftmark::kernels {
namespace {

// SmallDrafterConfig's vocabulary of 101 would keep cuBLASLt from the LM head.
DrafterConfig Even() {
  DrafterConfig c = SmallDrafterConfig();
  c.vocab_size = 104;
  return c;
}

DrafterConfig Odd() {
  DrafterConfig c = SmallDrafterConfig();
  c.hidden_size = 45;
  c.target_hidden_size = 43;
  c.head_dim = 10;
  c.intermediate_size = 77;
  return c;
}

void SetConvention(DrafterConfig& c, RowConvention convention) {
  c.row_convention = convention;
  c.sample_from_anchor = convention == RowConvention::kAnchorFirst;
}

DrafterConfig Selector(DrafterConfig c, std::uint64_t taps, std::uint64_t group,
                       std::uint64_t rank) {
  c.kind = DrafterKind::kDflash2;
  c.conv_kernel_size = taps;
  c.conv_group_size = group;
  c.selector_rank = rank;
  c.selector_top_k = 16;
  return c;
}

DrafterConfig Markov(DrafterConfig c, const std::string& type, std::uint64_t rank,
                     RowConvention convention, bool confidence_with_markov) {
  c.kind = DrafterKind::kDspark;
  c.markov_rank = rank;
  c.markov_head_type = type;
  c.confidence_head = true;
  c.confidence_head_with_markov = confidence_with_markov;
  SetConvention(c, convention);
  return c;
}

}  // namespace

std::vector<DraftVariant> DraftVariants() {
  std::vector<DraftVariant> variants;
  const auto add = [&](const std::string& name, DrafterConfig config, bool extras = false) {
    variants.push_back({name,
                        std::move(config),
                        {.seed = variants.size() + 1, .sinks = extras, .mask_embedding = extras}});
  };
  DrafterConfig dflash = Even();
  dflash.final_logit_softcapping = 30;
  add("dflash", dflash, /*extras=*/true);

  DrafterConfig odd = Odd();
  odd.attention_bias = true;
  odd.output_multiplier = 0.5;
  odd.input_embedding_scale = 1.5;
  odd.final_logit_softcapping = 20;
  SetConvention(odd, RowConvention::kAnchorFirst);
  add("dflash_odd", odd, /*extras=*/true);

  DrafterConfig heads = Even();
  heads.attention_bias = true;
  heads.num_attention_heads = 4;
  heads.num_key_value_heads = 1;
  heads.head_dim = 32;
  heads.layer_types = {LayerType::kFullAttention, LayerType::kFullAttention};
  heads.layer_causal = {false, false};
  heads.sliding_window.reset();
  heads.rope.type = "yarn";
  heads.rope.factor = 8;
  heads.rope.original_max_position_embeddings = 64;
  heads.rope.partial_rotary_factor = 0.5;
  heads.rope.pairing = RopePairing::kHalfOfHead;
  add("dflash_heads", heads);

  add("dflash2", Selector(Even(), 2, 16, 8));
  add("dflash2_odd", Selector(Odd(), 3, 15, 7));
  add("dspark_vanilla", Markov(Even(), "vanilla", 8, RowConvention::kAnchorFirst, true));
  add("dspark_gated", Markov(Even(), "gated", 8, RowConvention::kAnchorFirst, false));
  add("dspark_rnn", Markov(Even(), "rnn", 8, RowConvention::kInPlace, true));
  add("dspark_odd", Markov(Odd(), "rnn", 7, RowConvention::kAnchorFirst, true));

  DrafterConfig confidence = Even();
  confidence.kind = DrafterKind::kDspark;
  confidence.confidence_head = true;
  SetConvention(confidence, RowConvention::kAnchorFirst);
  add("confidence", confidence);
  return variants;
}

DraftVariant DraftVariantOf(const std::string& name) {
  for (DraftVariant& variant : DraftVariants()) {
    if (variant.name == name) return std::move(variant);
  }
  DM_CHECK(false);
  return {};
}

DraftVariant WideDraftVariantOf(const std::string& name) {
  DraftVariant variant = DraftVariantOf(name);
  variant.name += "_wide";
  DrafterConfig& c = variant.config;
  c.hidden_size = 128;
  c.target_hidden_size = 64;
  c.head_dim = name.size() % 2 == 0 ? 64 : 128;
  c.intermediate_size = 320;
  c.vocab_size = 101;  // no multiple of 8
  if (c.conv_kernel_size > 0) c.conv_group_size = 16;
  return variant;
}

std::vector<std::string> DraftVariantNames() {
  std::vector<std::string> names;
  for (const DraftVariant& variant : DraftVariants()) names.push_back(variant.name);
  return names;
}

}  // namespace draftmark::kernels
