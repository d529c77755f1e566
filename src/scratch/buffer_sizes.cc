#include "src/scratch/buffer_sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/scratch/sizing_terms.h"
#include "src/scratch/sub_layout_formulas.h"

namespace draftmark {
namespace {

CheckedU64 Floor256(CheckedU64 bytes) { return Max({bytes, kPlaceholderBytes}); }

// Section 6, row by row. `rows(n)` is m rows of n bytes each.
void ComputeActivations(const SizingFields& c, const SizingTerms& t, BufferRecord<CheckedU64>& b) {
  const auto rows = [&](CheckedU64 row_bytes) { return row_bytes * t.m; };
  b.hidden_states = rows(CheckedU64(2) * c.hidden_size);
  b.residual = b.hidden_states;
  b.norm_output = rows(t.widest * 2);
  b.qkv_output =
      rows((CheckedU64(c.num_attention_heads) * t.gm + CheckedU64(c.num_key_value_heads) * 2) *
           c.head_dim * 2);
  const CheckedU64 absorbed_q =
      t.mla ? rows(CheckedU64(c.num_attention_heads) * t.kvl * 2) : CheckedU64(0);
  b.attn_output = Max({rows(t.q_width * 2), rows(t.di * 2), absorbed_q});
  if (c.num_experts > 0) {
    const CheckedU64 routes = CheckedU64(c.num_experts) + c.zero_expert_num;
    b.gate_logits = rows(routes * 2);
    b.gate_logits_f32 = rows(routes * 4);
    b.moe_router_in_f32 = rows(CheckedU64(4) * c.hidden_size);
  } else {
    b.gate_logits = b.gate_logits_f32 = b.moe_router_in_f32 = kPlaceholderBytes;
  }
  b.moe_output = b.hidden_states;
  b.logits = CheckedU64(2) * c.vocab_size * Min(t.m, Max({kVerifyRows, t.decode_rows + 1}));
  b.ssm_qkvz = Floor256(Max({rows(t.qkvz * 2), rows(t.inp * 2), rows(t.kv_width * 4),
                             rows(CheckedU64(2) * c.shared_expert_intermediate_size)}));
  b.ssm_ba = Floor256(Max({rows(t.ba * 2), rows(CheckedU64(2) * c.moe_latent_size),
                           t.mla ? rows(CheckedU64(2) * c.qk_rope_head_dim) : CheckedU64(0),
                           t.mla ? rows(CheckedU64(2) * c.q_lora_rank) : CheckedU64(0)}));
  b.ssm_deinterleaved =
      Floor256(Max({rows(t.qkvz * 2), rows(t.xbc * 2), rows(t.q_width * 2), absorbed_q}));
  b.ssm_gates = Floor256(rows(CheckedU64(8) * c.linear_num_value_heads));
  b.ssm_conv_out_f32 = Floor256(Max(
      {rows(t.qkvz * 4),
       t.mla ? rows(CheckedU64(2) * c.num_attention_heads * c.qk_rope_head_dim) : CheckedU64(0)}));
}

void ComputeExpertsAndWorkspaces(const SizingFields& c, const SizingArguments& a,
                                 const SizingTerms& t, BufferRecord<CheckedU64>& b) {
  const ScratchFormulas scratch = ScratchFormulas::At(c, a);
  b.scratch = Max({kMinScratch, scratch.prefill.end, scratch.decode.end, scratch.verify.end,
                   scratch.batched_prefill.end});
  const bool moe = c.num_experts > 0;
  const CheckedU64 expert_width =
      moe ? Max({CheckedU64(c.num_experts_per_tok) * c.moe_intermediate_size, c.intermediate_size})
          : CheckedU64(c.intermediate_size);
  b.expert_gate_out = t.expert_rows * 2 * expert_width;
  b.expert_up_out = b.expert_gate_out;
  b.expert_down_out =
      t.expert_rows * 2 * (moe ? t.min_in * c.num_experts_per_tok : CheckedU64(c.hidden_size));
  b.splitk_workspace = (CheckedU64(c.head_dim) + 2) * a.sm_count * 4;
  b.gdn_fla_scratch = HasGdnFla(c) ? GdnFlaFormula(c, GdnFlaChunks(t.m)).end : CheckedU64(0);
  b.ssd_scratch = HasSsd(c) ? SsdFormula(c, SsdChunks(t.m)).end : CheckedU64(0);
  b.o_latent = Floor256(CheckedU64(c.o_groups) * c.o_lora_rank * 2 * t.m);
  b.norm_unit_w = t.widest * 2;
}

void ComputeStreamsAndActs(const SizingFields& c, const SizingArguments& a, const SizingTerms& t,
                           BufferRecord<CheckedU64>& b) {
  const CheckedU64 m = t.m;
  b.hc_streams = b.hc_post = b.hc_comb = kPlaceholderBytes;
  if (c.hc_mult > 0) {
    b.hc_streams = m * 4 * c.hc_mult * c.hidden_size;
    b.hc_post = Floor256(m * 4 * c.hc_mult);
    b.hc_comb = Floor256(m * 4 * c.hc_mult * c.hc_mult);
  }
  b.hc_lowrank_scratch = HasHcLowrank(c)
                             ? Max({HcSplitFormula(c, std::min(t.m, kHcSplitTokens)).end,
                                    HcGemmFormula(c, std::min(t.m, kSlabRows)).end})
                             : CheckedU64(kPlaceholderBytes);
  b.qsa_select_scratch =
      HasQsa(c) ? QsaSelectFormula(c, a.max_seq_len).end : CheckedU64(kPlaceholderBytes);
  b.token_ids = Floor256(m * 4);
  const auto q8 = [&](CheckedU64 width) { return m * 4 * RoundUp(width, 256) + kQ8Slack; };
  if (c.num_experts == 0) {
    b.ffn_act_q8 = q8(t.fk);
    b.ffn_act_a = m * t.fk;
    b.ffn_act_scale = m * 4 * FloorDiv(t.fk, 32);
  }
  b.fp8_act = m * t.pk;
  b.fp8_act_scale = m * 4 * CeilDiv(t.pk, kFp8ScaleBlock);
  if (c.adapter_max_rank > 0) {
    b.lora_xa = m * 2 * c.adapter_max_rank;
    b.lora_delta = m * 2 * Max({t.fk, t.q_width * t.gm});
    b.lora_hact = m * 2 * c.intermediate_size;
    b.lora_seq_slot = m * 4;
  }
  if (a.native_q2) {
    b.q2_dequant_scratch =
        CheckedU64(2) * c.hidden_size *
        Max({c.intermediate_size, t.qkvz, t.inp, t.q_width * t.gm, t.kv_width * 2});
  }
  if (a.native_q2_mmq) b.q2_act_q8 = q8(t.qk2);
}

StatusOr<std::uint64_t> Sum(const BufferSizes& sizes, std::string_view name, bool upstream) {
  CheckedU64 sum;
  for (const BufferField& field : kBufferFields) {
    if (!upstream || !field.Is(kUpstreamTotalOmits)) sum += sizes.*field.bytes;
  }
  if (!sum.ok()) {
    return OutOfRangeError(
        fmt::format("{}: every single size is valid, but their sum exceeds 2^64-1 bytes", name));
  }
  return sum.value();
}

std::uint64_t ElementBytes(std::string_view dtype) {
  if (dtype == "BF16") return 2;
  if (dtype == "F32" || dtype == "U32" || dtype == "I32") return 4;
  return 1;
}

}  // namespace

StatusOr<BufferSizes> BufferSizes::FromConfig(const SizingFields& config,
                                              const SizingArguments& arguments) {
  const SizingTerms terms = SizingTerms::From(config, arguments);
  BufferRecord<CheckedU64> checked;
  ComputeActivations(config, terms, checked);
  ComputeExpertsAndWorkspaces(config, arguments, terms, checked);
  ComputeStreamsAndActs(config, arguments, terms, checked);
  BufferSizes sizes;
  std::string overflowed;
  for (const BufferField& field : kBufferFields) {
    if ((checked.*field.checked).ok()) {
      sizes.*field.bytes = (checked.*field.checked).value();
    } else {
      overflowed += (overflowed.empty() ? "" : ", ") + std::string(field.name);
    }
  }
  if (!overflowed.empty()) {
    return OutOfRangeError(
        fmt::format("{}: the size exceeds 2^64-1 bytes on the way (overflow)", overflowed));
  }
  return sizes;
}

StatusOr<std::uint64_t> BufferSizes::TotalBytes() const { return Sum(*this, "total_bytes", false); }

StatusOr<std::uint64_t> BufferSizes::UpstreamReportedTotalBytes() const {
  return Sum(*this, "upstream_reported_total_bytes", true);
}

std::string BufferSizes::ToString() const {
  std::string text;
  for (const BufferField& field : kBufferFields) {
    text += fmt::format("{:<20} {}\n", field.name, this->*field.bytes);
  }
  return text;
}

std::ostream& operator<<(std::ostream& os, const BufferSizes& sizes) {
  return os << sizes.ToString();
}

std::string BufferShape(const BufferField& field, const BufferSizes& sizes,
                        const SizingFields& config, const SizingArguments& arguments) {
  const std::uint64_t bytes = sizes.*field.bytes;
  if (bytes == 0) return field.Is(kNullable) ? "NULL" : "empty";
  if (field.Is(kPlaceholder) && bytes == kPlaceholderBytes) return "placeholder";
  const std::uint64_t m = arguments.max_batch_tokens;
  std::uint64_t rows = 0;
  switch (field.rows) {
    case BufferRows::kBatch:
      rows = m;
      break;
    case BufferRows::kExpert:
      rows = std::max(m, kMinExpertRows);
      break;
    case BufferRows::kLogits: {
      // R + 1 cannot overflow here: the size of `logits` holds it.
      const std::uint64_t decode_rows = std::max(kMinDecodeRows, arguments.max_batch_size);
      rows = std::min(m, std::max(kVerifyRows, decode_rows + 1));
      break;
    }
    case BufferRows::kSplits:
      rows = arguments.sm_count;
      break;
    case BufferRows::kHidden:
      rows = config.hidden_size;
      break;
    case BufferRows::kOne:
      return fmt::format("[{}] {}", bytes / ElementBytes(field.dtype), field.dtype);
    case BufferRows::kComposite:
      return "composite";
  }
  const std::uint64_t width = bytes / ElementBytes(field.dtype) / rows;
  if (width == 1) return fmt::format("[{}] {}", rows, field.dtype);
  return fmt::format("[{}, {}] {}", rows, width, field.dtype);
}

}  // namespace draftmark
