#include "conformance/plain/stage_model.h"

#include <algorithm>

namespace draftmark::plain {
namespace {

bool Is(std::string_view stage, std::string_view name) {
  return stage == name || (stage.size() > name.size() && stage.ends_with(name) &&
                           (stage[stage.size() - name.size() - 1] == '.' || name.starts_with('_')));
}

// Sums: how far they may lie follows from the sum of magnitudes. An engine that keeps more than
// BF16 and rounds when it dumps shows inputs that are half a spacing from what it used, so every
// sum may move by that share (T3).
StageModel SumModel(std::uint64_t reduction, double single_share, double alternate_share) {
  StageModel model{SingleRound(reduction),
                   AlternateRounding(2, std::max(alternate_share, 0.5 * kBf16Half))};
  model.single.accumulation += single_share;
  return model;
}

}  // namespace

StageModel ModelOf(const DrafterConfig& c, std::string_view stage) {
  const auto is = [&](std::string_view name) { return Is(stage, name); };
  if (is("attn_out")) {
    StageModel model{AttentionModel(ProbabilityType::kF32), AttentionModel(ProbabilityType::kBf16)};
    // Queries that were turned with BF16 cos and sin move the scores as well as the probabilities'
    // own rounding does.
    model.alternate.value_share *= 2;
    return model;
  }
  if (is("k_new")) return SumModel(2, 0, 3 * kBf16Half);
  if (is("prepare") || is("finish"))
    return SumModel(std::max<std::uint64_t>(2, c.conv_kernel_size), 0, 5 * kBf16Half);
  if (is("mlp")) {
    StageModel model = SumModel(c.intermediate_size, 0x1p-12, kBf16Half);
    // Gate, up and their product are rounded but not shown. One of them on the other side of its
    // midpoint moves a term by up to a 128th of it, and by as much again where the gate is steep.
    model.single.largest_term_share = 4 * kBf16Half;
    return model;
  }
  // The projection before the norm is an FP32 sum over the hidden width, rounded but not shown. A
  // spacing of it is up to two of the result (just above a power of two a spacing is twice as large
  // a share of the value as just below one), and the norm may add one of its own.
  if (is("q_norm") || is("k_norm")) {
    StageModel model = SumModel(c.hidden_size, 0, kBf16Half);
    model.single.roundings = 3;
    return model;
  }
  if (stage == "logits") {
    StageModel model = SumModel(c.hidden_size, 0, 0);
    // Multiplier and softcap may act on the BF16 logit, with a rounding each.
    if (c.output_multiplier != 1 || c.final_logit_softcapping) model.alternate.roundings = 4;
    return model;
  }
  if (stage == "markov.logits") {
    return SumModel(2, kBf16Half, 2 * kBf16Half);  // the bias is a rounded term itself
  }
  if (stage == "confidence_logits") return SumModel(c.hidden_size, 0, 2 * kBf16Half);
  if (stage == "selector.scores") return SumModel(c.selector_rank, 0, 3 * kBf16Half);
  if (stage == "margin" || stage == "selector.topk_gap") return SumModel(2, 0, 2 * kBf16Half);
  if (stage == "fc") return SumModel(c.tap_width(), 0, 0);
  if (is("o_proj")) return SumModel(c.q_dim(), 0, 0);
  if (is("v_new") || is("dynamic") || stage == "selector.hidden_projection")
    return SumModel(c.hidden_size, 0, 0);
  if (is("output") || is("post_attention_layernorm")) return SumModel(0, 0, kBf16Half);
  return {SingleRound(), AlternateRounding(2)};
}

}  // namespace draftmark::plain
