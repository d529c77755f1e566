// The block path in streaming chains: the same steps as in block_path.cc, with norms, heads, cache
// writes, SwiGLU and residuals inside the kernels of the linear layers.
#include <vector>

#include "kernels/draft/block_path.h"
#include "kernels/draft/chain_runner.h"
#include "kernels/stream_chain/stream_chain_traits.h"

namespace draftmark::kernels {

bool ChainTakesContext(const DraftParts& parts, const BlockShape& shape, const ContextPass& pass) {
  const DrafterConfig& c = parts.config;
  // Queries, keys and values of the block, keys and values of each layer of the context.
  const std::uint64_t heads = 3 + 2 * c.num_hidden_layers;
  return c.conv_kernel_size == 0 && heads <= StreamChainTraits::kMostHeadSteps &&
         pass.rows + shape.rows() <= parts.plan.layout.slot_entries() &&
         ChainsFitContext(parts, pass.rows);
}

Status BlockPath::ChainQueriesKeysValues(std::uint64_t layer, StreamLinear step) {
  const DeviceLayer& w = p_.weights.layers[layer];
  BFloat16* const q = p_.scratch.q_buf.get();
  BFloat16* const k = p_.scratch.k_buf.get();
  BFloat16* const v = p_.scratch.v_buf.get();
  step.parts[0] = {w.q_proj, w.q_bias, q, Signed(c_.q_dim())};
  step.parts[1] = {w.k_proj, w.k_bias, k, Signed(c_.kv_dim())};
  step.parts[2] = {w.v_proj, w.v_bias, v, Signed(c_.kv_dim())};
  step.part_count = 3;
  if (layer == 0 && context_ != nullptr) return ChainWithContext(step);
  DM_RETURN_IF_ERROR(chain_->Add(step));
  DM_RETURN_IF_ERROR(TapNormed(layer, "input_layernorm", step));

  if (taps_ != nullptr) {
    DM_RETURN_IF_ERROR(chain_->Add(HeadNorms(layer)));
    DM_RETURN_IF_ERROR(TapHeadNorms(layer));
  }
  return chain_->Add(FinishedHeads(layer, taps_ == nullptr));
}

// The first layer's projections, and the whole pass of the context. Of fc the block's product needs nothing, and
// of that the context's keys and values.
Status BlockPath::ChainWithContext(const StreamLinear& projections) {
  // The stream's sums are still needed. Where the greatest logits will be, there is nothing as yet.
  auto* const sums = reinterpret_cast<float*>(p_.workspace.row_best);
  const ContextSteps context = StepsOfContext(p_, *context_, sums);
  DM_RETURN_IF_ERROR(chain_->Add(context.taps));
  DM_RETURN_IF_ERROR(chain_->AddBeside(projections));
  DM_RETURN_IF_ERROR(chain_->AddBeside(context.keys_values));
  std::vector<StreamHeads> heads = FinishedHeads(/*layer=*/0, /*normed=*/true);
  heads.insert(heads.end(), context.heads.begin(), context.heads.end());
  DM_RETURN_IF_ERROR(chain_->Add(heads));
  chain_->LateKeys(context_->rows);
  return OkStatus();
}

// A step of the chain where it takes it, else a kernel of its own. So it is between convolutions, too, which
// end the chain anyway: there the kernel of its own is faster.
Status BlockPath::ChainAttention(std::uint64_t layer) {
  const PagedAttentionArgs attention = AttentionOf(layer);
  if (c_.conv_kernel_size == 0 && StreamAttentionFits(attention)) return chain_->Add(attention);
  DM_RETURN_IF_ERROR(chain_->Flush());
  return LaunchPagedAttention(attention, p_.stream);
}

// What the prologue of `step` made of the rows, if it did.
Status BlockPath::TapNormed(std::uint64_t layer, const char* stage, const StreamLinear& step) {
  return step.normed == nullptr ? OkStatus() : Tap(layer, stage, {c_.hidden_size}, step.normed);
}

// The rows in front of a sublayer: normed on their way into the product, or convolved.
Status BlockPath::ChainInput(std::uint64_t layer, const char* stage, DeviceMatrix norm,
                             const DeviceConv& conv, const std::string& site, StreamLinear* input) {
  const std::uint64_t rows = shape_.rows();
  BFloat16* const stream = p_.scratch.stream_buf.get();
  BFloat16* const normed = p_.scratch.norm_buf.get();
  if (c_.conv_kernel_size == 0) {
    *input = chain_->Normed(stream, norm, rows, taps_ != nullptr ? normed : nullptr);
    return OkStatus();
  }
  const std::uint64_t groups = c_.hidden_size / c_.conv_group_size;
  BFloat16* const dynamic = p_.scratch.conv_dyn.get();
  StreamLinear project = chain_->Normed(stream, norm, rows, normed);
  project.parts[0] = {conv.kernel_projection, nullptr, dynamic,
                      Signed(2 * c_.conv_kernel_size * groups)};
  DM_RETURN_IF_ERROR(chain_->Add(project));
  DM_RETURN_IF_ERROR(chain_->Flush());
  DM_RETURN_IF_ERROR(TapNormed(layer, stage, project));
  DM_RETURN_IF_ERROR(TapDynamic(site));
  const BFloat16* convolved = nullptr;
  DM_RETURN_IF_ERROR(Convolve(conv, /*prepare=*/true, normed, site, &convolved));
  *input = {.x = convolved, .rows = Signed(rows), .k = Signed(c_.hidden_size)};
  return OkStatus();
}

// A sublayer's last product: added to the stream, or convolved first. `step` has x, k and weights.
Status BlockPath::ChainOutput(std::uint64_t layer, const char* stage, StreamLinear step,
                              const DeviceConv& conv, const std::string& site) {
  const std::uint64_t rows = shape_.rows();
  BFloat16* const stream = p_.scratch.stream_buf.get();
  BFloat16* const projected = p_.scratch.stream_acc.get();
  step.rows = Signed(rows);
  if (c_.conv_kernel_size == 0) {
    step.parts[0].y = taps_ != nullptr ? projected : nullptr;
    step.epilogue = StreamEpilogue::kResidual;
    step.residual = stream;
    DM_RETURN_IF_ERROR(chain_->AddCounted(step));
    return Tap(layer, stage, {c_.hidden_size}, projected);
  }
  step.parts[0].y = projected;
  DM_RETURN_IF_ERROR(chain_->Add(step));
  DM_RETURN_IF_ERROR(chain_->Flush());
  DM_RETURN_IF_ERROR(Tap(layer, stage, {c_.hidden_size}, projected));
  const BFloat16* delta = nullptr;
  DM_RETURN_IF_ERROR(ConvFinish(conv, site, &delta));
  DM_RETURN_IF_ERROR(AddToStream(delta));
  return chain_->CountSquares(stream, rows);
}

Status BlockPath::ChainLayer(std::uint64_t layer) {
  const DeviceLayer& w = p_.weights.layers[layer];
  const std::uint64_t wide = c_.intermediate_size;
  BFloat16* const attended = p_.scratch.attn_out.get();
  BFloat16* const gate = p_.scratch.mlp_intermediate.get();
  const std::string attention_site = LayerStage(layer, "attention_conv");
  const std::string mlp_site = LayerStage(layer, "mlp_conv");

  StreamLinear input;
  DM_RETURN_IF_ERROR(ChainInput(layer, "input_layernorm", w.input_layernorm, w.attention_conv,
                                attention_site, &input));
  DM_RETURN_IF_ERROR(ChainQueriesKeysValues(layer, input));
  if (taps_ != nullptr) DM_RETURN_IF_ERROR(TapCache(layer));
  DM_RETURN_IF_ERROR(ChainAttention(layer));
  DM_RETURN_IF_ERROR(Tap(layer, "attn_out", {c_.q_dim()}, attended));
  StreamLinear output = {.x = attended, .k = Signed(c_.q_dim())};
  output.parts[0] = {w.o_proj, w.o_bias, nullptr, Signed(c_.hidden_size)};
  DM_RETURN_IF_ERROR(ChainOutput(layer, "o_proj", output, w.attention_conv, attention_site));

  DM_RETURN_IF_ERROR(ChainInput(layer, "post_attention_layernorm", w.post_attention_layernorm,
                                w.mlp_conv, mlp_site, &input));
  input.parts[0] = {w.gate_proj, nullptr, gate, Signed(wide)};
  input.parts[1] = {w.up_proj, nullptr, nullptr, Signed(wide)};
  input.part_count = 2;
  input.epilogue = StreamEpilogue::kSwiGlu;
  DM_RETURN_IF_ERROR(chain_->Add(input));
  DM_RETURN_IF_ERROR(TapNormed(layer, "post_attention_layernorm", input));
  output = {.x = gate, .k = Signed(wide)};
  output.parts[0] = {w.down_proj, nullptr, nullptr, Signed(c_.hidden_size)};
  DM_RETURN_IF_ERROR(ChainOutput(layer, "mlp", output, w.mlp_conv, mlp_site));
  return Tap(layer, "output", {c_.hidden_size}, p_.scratch.stream_buf.get());
}

}  // namespace draftmark::kernels
