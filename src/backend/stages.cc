#include "src/backend/stages.h"

#include <algorithm>

namespace draftmark {

std::string LayerStage(std::uint64_t layer, std::string_view stage) {
  return "layers." + std::to_string(layer) + "." + std::string(stage);
}

std::vector<std::string> StagesInDataFlowOrder(const DrafterConfig& config) {
  const bool conv = config.kind == DrafterKind::kDflash2;
  std::vector<std::string> order = {"fc", "hidden_norm"};
  for (std::uint64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const auto add = [&](std::string_view stage) { order.push_back(LayerStage(layer, stage)); };
    add("input_layernorm");
    if (conv) {
      add("attention_conv.dynamic");
      add("attention_conv.prepare");
    }
    for (const char* stage : {"q_norm", "k_norm", "k_new", "v_new", "attn_out", "o_proj"})
      add(stage);
    if (conv) add("attention_conv.finish");
    add("post_attention_layernorm");
    if (conv) {
      add("mlp_conv.dynamic");
      add("mlp_conv.prepare");
    }
    add("mlp");
    if (conv) add("mlp_conv.finish");
    add("output");
  }
  order.insert(order.end(), {"norm", "logits"});
  if (config.kind == DrafterKind::kDflash2) {
    order.insert(order.end(), {"selector.hidden_projection", "selector.candidate_ids",
                               "selector.unary", "selector.topk_gap", "selector.scores"});
  }
  if (config.kind == DrafterKind::kDspark) {
    order.insert(order.end(), {"markov.logits", "confidence_logits"});
  }
  order.insert(order.end(), {"draft_tokens", "margin"});
  return order;
}

bool IsIdStage(std::string_view stage) {
  return stage == "draft_tokens" || stage == "selector.candidate_ids";
}

namespace {

// Of a stage inside a layer, by its name without the layer's prefix.
Shape LayerStageShape(const DrafterConfig& c, std::string_view stage, std::uint64_t new_rows,
                      std::uint64_t gamma) {
  if (stage == "q_norm") return {gamma, c.num_attention_heads, c.head_dim};
  if (stage == "k_norm" || stage == "k_new" || stage == "v_new") {
    return {new_rows + gamma, c.num_key_value_heads, c.head_dim};
  }
  if (stage == "attn_out") return {gamma, c.q_dim()};
  if (stage.ends_with("_conv.dynamic")) {
    return {gamma, 2, c.conv_kernel_size, c.hidden_size / c.conv_group_size};
  }
  return {gamma, c.hidden_size};
}

}  // namespace

Shape StageShape(const DrafterConfig& c, std::string_view stage, std::uint64_t new_rows,
                 std::uint64_t gamma) {
  const std::vector<std::string> known = StagesInDataFlowOrder(c);
  if (std::find(known.begin(), known.end(), stage) == known.end()) return {};
  if (stage.starts_with("layers.")) {
    const std::size_t dot = stage.find('.', std::string_view("layers.").size());
    return LayerStageShape(c, stage.substr(dot + 1), new_rows, gamma);
  }
  const std::uint64_t drafts = c.drafts(gamma);
  if (stage == "fc" || stage == "hidden_norm") return {new_rows, c.hidden_size};
  if (stage == "norm") return {gamma, c.hidden_size};
  if (stage == "logits" || stage == "markov.logits") return {gamma, c.vocab_size};
  if (stage == "selector.hidden_projection") return {drafts, c.selector_rank};
  if (stage == "selector.candidate_ids" || stage == "selector.unary" ||
      stage == "selector.scores") {
    return {drafts, c.selector_top_k};
  }
  return {drafts};  // draft_tokens, margin, selector.topk_gap, confidence_logits
}

}  // namespace draftmark
