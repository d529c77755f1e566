#include "src/backend/stages.h"

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

}  // namespace draftmark
