#include "src/scratch/buffer_sharing.h"

#include <fmt/format.h>

#include <array>

#include "src/base/checked.h"

namespace draftmark {
namespace {

constexpr std::array kUses = {
    BufferUse{"norm_output", "every layer", "normalised rows of width h"},
    BufferUse{"norm_output", "Mamba-2", "rows of width di"},
    BufferUse{"attn_output", "attention", "rows of width nq*hd"},
    BufferUse{"attn_output", "Mamba-2", "rows of width di"},
    BufferUse{"ssm_qkvz", "GDN", "projection"},
    BufferUse{"ssm_qkvz", "attention prefill", "contiguous K and V"},
    BufferUse{"ssm_qkvz", "Mamba-2", "input projection"},
    BufferUse{"ssm_qkvz", "MoE", "shared-expert up output"},
    BufferUse{"ssm_ba", "GDN", "beta and alpha"},
    BufferUse{"ssm_ba", "MoE", "LatentMoE latent row"},
    BufferUse{"ssm_ba", "MLA", "query latent, then rotary key"},
    BufferUse{"ssm_ba", "MTP draft head", "BF16 row of 2h", false},
    BufferUse{"ssm_deinterleaved", "GDN", "reordered projection"},
    BufferUse{"ssm_deinterleaved", "attention prefill", "contiguous Q"},
    BufferUse{"ssm_deinterleaved", "Mamba-2", "convolution output"},
    BufferUse{"ssm_deinterleaved", "MLA", "absorbed Q"},
    BufferUse{"ssm_gates", "GDN", "gates"},
    BufferUse{"ssm_gates", "MTP draft head", "BF16 row of h", false},
    BufferUse{"ssm_conv_out_f32", "GDN", "convolution output, F32"},
    BufferUse{"ssm_conv_out_f32", "MLA", "rotary Q, BF16"},
    BufferUse{"scratch", "embedding", "token ids at offset 0"},
    BufferUse{"scratch", "prefill", "routing and metadata"},
    BufferUse{"scratch", "decode or verify", "metadata from offset 32768"},
    BufferUse{"scratch", "batched prefill", "routing and metadata of 8 streams"},
    BufferUse{"scratch", "sampling", "argmax results at offset 0"},
    BufferUse{"expert_gate_out", "MoE", "routed experts"},
    BufferUse{"expert_gate_out", "dense FFN", "gate output"},
    BufferUse{"expert_up_out", "MoE", "routed experts"},
    BufferUse{"expert_up_out", "dense FFN", "up output"},
    BufferUse{"expert_down_out", "MoE", "routed experts"},
    BufferUse{"expert_down_out", "dense FFN", "down output"},
    BufferUse{"ffn_act_q8", "dense FFN", "q8_1 activations of all layers in turn"},
    BufferUse{"ffn_act_a", "dense FFN", "int8 or packed 4-bit activations of all layers in turn"},
    BufferUse{"ffn_act_scale", "dense FFN", "their scales"},
    BufferUse{"fp8_act", "attention", "FP8 input of the qkv and o projections"},
    BufferUse{"fp8_act", "GDN", "FP8 input of the qkvz projection"},
    BufferUse{"fp8_act", "Mamba-2", "FP8 input of the output projection"},
    BufferUse{"fp8_act_scale", "as fp8_act", "its scales"},
    BufferUse{"q2_dequant_scratch", "packed 2-bit projections", "one weight after the other"},
    BufferUse{"q2_act_q8", "packed 2-bit projections", "one activation after the other"},
};

Status CheckRow(std::string_view buffer, std::uint64_t bytes, std::uint64_t width_in_h,
                std::uint64_t hidden_size) {
  const CheckedU64 needed = CheckedU64(2) * width_in_h * hidden_size;
  if (needed.ok() && needed.value() <= bytes) return OkStatus();
  return FailedPreconditionError(
      fmt::format("{}: the MTP draft head parks a BF16 row of {}*hidden_size there and needs {} "
                  "bytes, found {} "
                  "(raise max_batch_tokens, or give the head space of its own)",
                  buffer, width_in_h,
                  needed.ok() ? std::to_string(needed.value()) : "more than 2^64-1", bytes));
}

}  // namespace

std::span<const BufferUse> BufferUses() { return kUses; }

std::vector<const BufferUse*> UsesOf(std::string_view buffer) {
  std::vector<const BufferUse*> uses;
  for (const BufferUse& use : kUses) {
    if (use.buffer == buffer) uses.push_back(&use);
  }
  return uses;
}

std::string SharingToString() {
  std::string text;
  for (const BufferUse& use : kUses) {
    text += fmt::format("{:<20} {:<26} {}{}\n", use.buffer, use.stage, use.content,
                        use.provisioned ? "" : " (not provisioned)");
  }
  return text;
}

Status CheckMtpRowsFit(const BufferSizes& sizes, std::uint64_t hidden_size) {
  DM_RETURN_IF_ERROR(CheckRow("ssm_gates", sizes.ssm_gates, 1, hidden_size));
  return CheckRow("ssm_ba", sizes.ssm_ba, 2, hidden_size);
}

}  // namespace draftmark
