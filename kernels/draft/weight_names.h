// The tensors of a drafter by their names in a checkpoint, for host and device weights alike.
#ifndef DRAFTMARK_KERNELS_DRAFT_WEIGHT_NAMES_H_
#define DRAFTMARK_KERNELS_DRAFT_WEIGHT_NAMES_H_

#include <cstdint>
#include <string>

#include "src/config/drafter_config.h"

namespace draftmark::kernels {

// Calls visit(name, member) for every member that a drafter may have. `Weights` is DrafterWeights or
// DeviceWeights (const or not), whose members have the same names; `layers` has its size.
template <typename Weights, typename Visit>
void ForEachWeight(Weights& w, const Visit& visit) {
  visit("fc.weight", w.fc);
  visit("hidden_norm.weight", w.hidden_norm);
  visit("norm.weight", w.norm);
  for (std::size_t l = 0; l < w.layers.size(); ++l) {
    auto& layer = w.layers[l];
    const std::string prefix = "layers." + std::to_string(l) + ".";
    const std::string attention = prefix + "self_attn.";
    visit(prefix + "input_layernorm.weight", layer.input_layernorm);
    visit(prefix + "post_attention_layernorm.weight", layer.post_attention_layernorm);
    visit(attention + "q_proj.weight", layer.q_proj);
    visit(attention + "k_proj.weight", layer.k_proj);
    visit(attention + "v_proj.weight", layer.v_proj);
    visit(attention + "o_proj.weight", layer.o_proj);
    visit(attention + "q_proj.bias", layer.q_bias);
    visit(attention + "k_proj.bias", layer.k_bias);
    visit(attention + "v_proj.bias", layer.v_bias);
    visit(attention + "o_proj.bias", layer.o_bias);
    visit(attention + "q_norm.weight", layer.q_norm);
    visit(attention + "k_norm.weight", layer.k_norm);
    visit(attention + "sinks", layer.sinks);
    visit(prefix + "mlp.gate_proj.weight", layer.gate_proj);
    visit(prefix + "mlp.up_proj.weight", layer.up_proj);
    visit(prefix + "mlp.down_proj.weight", layer.down_proj);
    visit(prefix + "attention_conv.base_kernel", layer.attention_conv.base_kernel);
    visit(prefix + "attention_conv.kernel_projection.weight",
          layer.attention_conv.kernel_projection);
    visit(prefix + "mlp_conv.base_kernel", layer.mlp_conv.base_kernel);
    visit(prefix + "mlp_conv.kernel_projection.weight", layer.mlp_conv.kernel_projection);
  }
  visit("embed_tokens.weight", w.embed);
  visit("lm_head.weight", w.lm_head);
  visit("mask_embedding", w.mask_embedding);
  visit("candidate_selector.predecessor_codebook", w.selector.predecessor);
  visit("candidate_selector.successor_codebook", w.selector.successor);
  visit("candidate_selector.hidden_projection.weight", w.selector.hidden_projection);
  visit("markov_head.markov_w1.weight", w.markov.w1);
  visit("markov_head.markov_w2.weight", w.markov.w2);
  visit("markov_head.gate_proj.weight", w.markov.gate_proj);
  visit("markov_head.gate_proj.bias", w.markov.gate_bias);
  visit("markov_head.joint_proj.weight", w.markov.joint_proj);
  visit("markov_head.joint_proj.bias", w.markov.joint_bias);
  visit("confidence_head.proj.weight", w.confidence.proj);
  visit("confidence_head.proj.bias", w.confidence.bias);
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_WEIGHT_NAMES_H_
