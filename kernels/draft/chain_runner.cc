#include "kernels/draft/chain_runner.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "kernels/row_squares/row_squares.h"
#include "kernels/stream_chain/stream_chain_traits.h"

namespace draftmark::kernels {
namespace {

// Addresses of a layer that has been laid out already; whose y does not matter here.
bool Fits(const DraftParts& p, DeviceMatrix weight, std::uint64_t rows, std::uint64_t n,
          std::uint64_t k) {
  StreamLinear step = {.x = p.scratch.stream_buf.get(), .rows = Signed(rows), .k = Signed(k)};
  step.parts[0] = {.weight = weight, .y = p.scratch.stream_acc.get(), .n = Signed(n)};
  return StreamLinearFits(step);
}

}  // namespace

bool ChainsFit(const DraftParts& p, std::uint64_t rows) {
  const DrafterConfig& c = p.config;
  const std::uint64_t h = c.hidden_size;
  const bool selector = p.weights.selector.hidden_projection == nullptr ||
                        Fits(p, p.weights.selector.hidden_projection, rows, c.selector_rank, h);
  return selector && Fits(p, p.weights.lm_head, rows, c.vocab_size, h) &&
         std::all_of(p.weights.layers.begin(), p.weights.layers.end(), [&](const DeviceLayer& w) {
           const bool convs = c.conv_kernel_size == 0 ||
                              (Fits(p, w.attention_conv.kernel_projection, rows, 1, h) &&
                               Fits(p, w.mlp_conv.kernel_projection, rows, 1, h));
           return convs && Fits(p, w.q_proj, rows, c.q_dim(), h) &&
                  Fits(p, w.k_proj, rows, c.kv_dim(), h) &&
                  Fits(p, w.v_proj, rows, c.kv_dim(), h) && Fits(p, w.o_proj, rows, h, c.q_dim()) &&
                  Fits(p, w.gate_proj, rows, c.intermediate_size, h) &&
                  Fits(p, w.up_proj, rows, c.intermediate_size, h) &&
                  Fits(p, w.down_proj, rows, h, c.intermediate_size);
         });
}

bool ChainsFitContext(const DraftParts& p, std::uint64_t rows) {
  const DrafterConfig& c = p.config;
  StreamLinear project = {
      .x = p.scratch.fc_proj.get(), .rows = Signed(rows), .k = Signed(c.hidden_size)};
  project.parts[0] = FusedKeysValues(p, p.scratch.fused_kv_out.get());
  return 2 * c.num_hidden_layers <= StreamChainTraits::kMostHeadSteps &&
         Fits(p, p.weights.fc, rows, c.hidden_size, c.tap_width()) && StreamLinearFits(project);
}

StreamPart FusedKeysValues(const DraftParts& p, BFloat16* y) {
  return {.weight = p.weights.fused_kv,
          .bias = p.weights.fused_kv_bias,
          .y = y,
          .n = Signed(2 * p.config.kv_dim()),
          .groups = Signed(p.config.num_hidden_layers),
          .group_step = p.weights.fused_kv_step};
}

StreamLinear ChainRunner::Normed(const BFloat16* x, DeviceMatrix weight, std::uint64_t rows,
                                 BFloat16* normed) const {
  return {.x = x,
          .rows = Signed(rows),
          .k = Signed(p_.config.hidden_size),
          .norm_weight = weight,
          .norm_sums = p_.workspace.row_sums,
          .norm_parts = sum_parts_,
          .epsilon = p_.epsilon(),
          .normed = normed};
}

Status ChainRunner::AddCounted(StreamLinear step) {
  step.row_sums = p_.workspace.row_sums;
  sum_parts_ = StreamChainRowParts();
  return Add(step);
}

Status ChainRunner::CountSquares(const BFloat16* x, std::uint64_t rows) {
  DM_RETURN_IF_ERROR(Flush());
  sum_parts_ = 1;
  return LaunchRowSquares({.x = x,
                           .sums = p_.workspace.row_sums,
                           .rows = Signed(rows),
                           .width = Signed(p_.config.hidden_size)},
                          p_.stream);
}

Status ChainRunner::MakeRoom(std::size_t heads, int attentions) {
  const bool fits = chain_.steps().size() < StreamChainTraits::kMostSteps &&
                    heads_ + heads <= StreamChainTraits::kMostHeadSteps &&
                    attentions_ + attentions <= StreamChainTraits::kMostAttentions;
  return fits ? OkStatus() : Flush();
}

Status ChainRunner::Add(const StreamLinear& step) {
  DM_RETURN_IF_ERROR(MakeRoom(0, 0));
  chain_.Add(step);
  return at_once_ ? Flush() : OkStatus();
}

Status ChainRunner::AddBeside(const StreamLinear& step) {
  DM_RETURN_IF_ERROR(MakeRoom(0, 0));
  chain_.AddBeside(step);
  return at_once_ ? Flush() : OkStatus();
}

Status ChainRunner::Add(const std::vector<StreamHeads>& heads) {
  DM_RETURN_IF_ERROR(MakeRoom(heads.size(), 0));
  chain_.Add(heads);
  heads_ += heads.size();
  return at_once_ ? Flush() : OkStatus();
}

Status ChainRunner::Add(const PagedAttentionArgs& attention) {
  DM_RETURN_IF_ERROR(MakeRoom(0, 1));
  chain_.Add(attention, late_keys_);
  ++attentions_;
  return at_once_ ? Flush() : OkStatus();
}

Status ChainRunner::Flush() {
  const StreamChain chain = std::exchange(chain_, {});
  heads_ = 0;
  attentions_ = 0;
  late_keys_ = 0;
  return LaunchStreamChain(chain, p_.workspace.chain_counters, p_.stream);
}

StreamHeads NormedHeads(const DraftParts& parts, BFloat16* x, std::uint64_t stride,
                        std::uint64_t rows, std::uint64_t heads, DeviceMatrix weight) {
  return {.x = x,
          .x_stride = Signed(stride),
          .rows = Signed(rows),
          .heads = Signed(heads),
          .d = Signed(parts.config.head_dim),
          .norm_weight = weight,
          .epsilon = parts.epsilon(),
          .y = x,
          .y_stride = Signed(stride)};
}

void RotateHeads(const DraftParts& parts, const std::int32_t* positions, StreamHeads& heads) {
  heads.frequency = parts.workspace.rope_frequency;
  heads.positions = positions;
  heads.amplitude = static_cast<float>(parts.rope.amplitude);
  heads.rotary = Signed(2 * parts.rope.frequency.size());
  heads.partner = Signed(parts.rope.partner);
}

void CacheHeads(const DraftParts& parts, const Slots& slots, BFloat16* pool, StreamHeads& heads) {
  heads.y = nullptr;
  heads.pool = pool;
  heads.pool_slots = parts.cache.slots;
  if (const auto* const wide = std::get_if<std::int64_t*>(&slots)) {
    heads.slots64 = *wide;
  } else {
    heads.slots32 = std::get<std::int32_t*>(slots);
  }
}

}  // namespace draftmark::kernels
