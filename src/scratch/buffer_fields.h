// The 41 buffers of one forward pass: one record type and one table that every loop uses.
//
//   for (const BufferField& field : kBufferFields) {
//     total += sizes.*field.bytes;
//   }
//
// Names and order are the seed's (seeds/004); facts per buffer are those of spec/buffer_sizes.md
// sections 6 (content), 10 (which ones upstream's total leaves out) and 11 (arena order, nullable,
// zero fill, clearing). Symbols in the content texts are the spec's: m token rows, h hidden_size,
// V vocab_size, nq and nkv heads of width hd, E experts, R decode rows, and so on.
#ifndef DRAFTMARK_SRC_SCRATCH_BUFFER_FIELDS_H_
#define DRAFTMARK_SRC_SCRATCH_BUFFER_FIELDS_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "src/base/checked.h"
#include "src/scratch/device_address.h"

namespace draftmark {

// One T per buffer: sizes in bytes, addresses, or sizes still being computed.
template <typename T>
struct BufferRecord {
  T hidden_states{};
  T residual{};
  T norm_output{};
  T qkv_output{};
  T attn_output{};
  T gate_logits{};
  T gate_logits_f32{};
  T moe_router_in_f32{};
  T moe_output{};
  T logits{};
  T ssm_qkvz{};
  T ssm_ba{};
  T ssm_deinterleaved{};
  T ssm_gates{};
  T ssm_conv_out_f32{};
  T scratch{};
  T expert_gate_out{};
  T expert_up_out{};
  T expert_down_out{};
  T splitk_workspace{};
  T gdn_fla_scratch{};
  T ssd_scratch{};
  T o_latent{};
  T norm_unit_w{};
  T hc_streams{};
  T hc_post{};
  T hc_comb{};
  T hc_lowrank_scratch{};
  T qsa_select_scratch{};
  T token_ids{};
  T ffn_act_q8{};
  T ffn_act_a{};
  T ffn_act_scale{};
  T fp8_act{};
  T fp8_act_scale{};
  T lora_xa{};
  T lora_delta{};
  T lora_hact{};
  T lora_seq_slot{};
  T q2_dequant_scratch{};
  T q2_act_q8{};

  bool operator==(const BufferRecord&) const = default;
};

using BufferAddresses = BufferRecord<DeviceAddress>;

// What the rows of a buffer are, so that its shape can be told from its bytes.
enum class BufferRows {
  kBatch,      // m
  kExpert,     // max(m, 3)
  kLogits,     // min(m, max(96, R+1))
  kSplits,     // sm_count
  kHidden,     // h
  kOne,        // a vector
  kComposite,  // several regions, or a packed format: no rows
};

enum BufferFlag : unsigned {
  kNullable = 1u << 0,                // size 0 is a null address; the other 30 must not be 0
  kPlaceholder = 1u << 1,             // 256 bytes as a floor, or when the feature is absent
  kZeroFilled = 1u << 2,              // filled with zero bytes at allocation, read-only afterwards
  kClearedBeforePrefill = 1u << 3,    // zeroed before a prefill chunk
  kClearedBetweenRequests = 1u << 4,  // zeroed between requests
  kUpstreamTotalOmits = 1u << 5,      // not in the figure that upstream reports
};

struct BufferField {
  std::string_view name;
  std::uint64_t BufferRecord<std::uint64_t>::*bytes;
  CheckedU64 BufferRecord<CheckedU64>::*checked;
  DeviceAddress BufferRecord<DeviceAddress>::*address;
  int arena_order;  // 1 is allocated first
  unsigned flags;   // of BufferFlag
  BufferRows rows;
  std::string_view dtype;    // of an element, as in safetensors; "bytes" if mixed or packed
  std::string_view content;  // symbolic shape and meaning

  constexpr bool Is(BufferFlag flag) const { return (flags & flag) != 0; }
};

#define DM_BUFFER(name, order, flags, rows, dtype, content)                           \
  BufferField {                                                                       \
#name, &BufferRecord < std::uint64_t> ::name, &BufferRecord < CheckedU64> ::name, \
        &BufferRecord < DeviceAddress> ::name, order, flags, rows, dtype, content     \
  }
// In the seed's order.
inline constexpr std::array kBufferFields = {
    DM_BUFFER(hidden_states, 1, kClearedBeforePrefill | kClearedBetweenRequests, BufferRows::kBatch,
              "BF16", "[m, h]"),
    DM_BUFFER(residual, 2, kClearedBeforePrefill | kClearedBetweenRequests, BufferRows::kBatch,
              "BF16", "[m, h], always BF16 here"),
    DM_BUFFER(norm_output, 3, kClearedBetweenRequests, BufferRows::kBatch, "BF16",
              "[m, max(h, di)]"),
    DM_BUFFER(qkv_output, 4, kClearedBetweenRequests, BufferRows::kBatch, "BF16",
              "[m, (nq*gm + 2*nkv)*hd]: Q (and its gate), K, V"),
    DM_BUFFER(attn_output, 5, kClearedBetweenRequests, BufferRows::kBatch, "BF16",
              "[m, max(nq*hd, di, MLA nq*kvl)]"),
    DM_BUFFER(gate_logits, 6, kPlaceholder | kClearedBeforePrefill | kClearedBetweenRequests,
              BufferRows::kBatch, "BF16", "[m, E+Z] router logits"),
    DM_BUFFER(gate_logits_f32, 7, kPlaceholder, BufferRows::kBatch, "F32",
              "[m, E+Z] router logits, unrounded"),
    DM_BUFFER(moe_router_in_f32, 8, kPlaceholder, BufferRows::kBatch, "F32", "[m, h] router input"),
    DM_BUFFER(moe_output, 9, kClearedBeforePrefill | kClearedBetweenRequests, BufferRows::kBatch,
              "BF16", "[m, h]"),
    DM_BUFFER(logits, 10, kClearedBetweenRequests, BufferRows::kLogits, "BF16",
              "[min(m, max(96, R+1)), V]"),
    DM_BUFFER(ssm_qkvz, 11, kPlaceholder | kClearedBetweenRequests, BufferRows::kBatch, "BF16",
              "[m, max(qkvz, inp, 2*nkv*hd, sh)], shared"),
    DM_BUFFER(ssm_ba, 12, kPlaceholder | kClearedBetweenRequests, BufferRows::kBatch, "BF16",
              "[m, max(ba, lat, MLA rd, MLA qr)], shared"),
    DM_BUFFER(ssm_deinterleaved, 13, kPlaceholder | kClearedBetweenRequests, BufferRows::kBatch,
              "BF16", "[m, max(qkvz, xbc, nq*hd, MLA nq*kvl)], shared"),
    DM_BUFFER(ssm_gates, 14, kPlaceholder | kClearedBetweenRequests, BufferRows::kBatch, "F32",
              "[m, 2*nv]"),
    DM_BUFFER(ssm_conv_out_f32, 15, kPlaceholder | kClearedBetweenRequests, BufferRows::kBatch,
              "F32", "[m, qkvz]; as BF16 [m, nq*rd] for MLA"),
    DM_BUFFER(scratch, 16, kClearedBetweenRequests, BufferRows::kComposite, "bytes",
              "metadata: prefill, decode, verify or batched prefill"),
    DM_BUFFER(expert_gate_out, 17, kClearedBeforePrefill | kClearedBetweenRequests,
              BufferRows::kExpert, "BF16", "[max(m,3), max(k*mi, I)]"),
    DM_BUFFER(expert_up_out, 18, kClearedBeforePrefill | kClearedBetweenRequests,
              BufferRows::kExpert, "BF16", "[max(m,3), max(k*mi, I)]"),
    DM_BUFFER(expert_down_out, 19, kClearedBeforePrefill | kClearedBetweenRequests,
              BufferRows::kExpert, "BF16", "[max(m,3), k*min_in], dense [max(m,3), h]"),
    DM_BUFFER(splitk_workspace, 20, kClearedBetweenRequests, BufferRows::kSplits, "F32",
              "[sm_count, hd+2]: output row, running max, running sum"),
    DM_BUFFER(gdn_fla_scratch, 29, kNullable, BufferRows::kComposite, "bytes",
              "W, U, S, uc, gc of the chunked delta net"),
    DM_BUFFER(ssd_scratch, 28, kNullable, BufferRows::kComposite, "F32",
              "dt, dA_cumsum, CB of the Mamba-2 scan"),
    DM_BUFFER(o_latent, 21, kPlaceholder | kUpstreamTotalOmits, BufferRows::kBatch, "BF16",
              "[m, og*orank]"),
    DM_BUFFER(norm_unit_w, 22, kZeroFilled | kUpstreamTotalOmits, BufferRows::kOne, "BF16",
              "[max(h, di)], zero: a plain normalisation"),
    DM_BUFFER(hc_streams, 23, kPlaceholder, BufferRows::kBatch, "F32", "[m, hc, h]"),
    DM_BUFFER(hc_post, 24, kPlaceholder, BufferRows::kBatch, "F32", "[m, hc]"),
    DM_BUFFER(hc_comb, 25, kPlaceholder, BufferRows::kBatch, "F32", "[m, hc, hc]"),
    DM_BUFFER(hc_lowrank_scratch, 26, kPlaceholder, BufferRows::kComposite, "bytes",
              "split (F32, decode) or gemm (BF16, prefill)"),
    DM_BUFFER(qsa_select_scratch, 27, kPlaceholder, BufferRows::kComposite, "bytes",
              "qk, q_post, scores, lists of a 2048-row slab"),
    DM_BUFFER(token_ids, 30, kPlaceholder, BufferRows::kBatch, "U32", "[m]"),
    DM_BUFFER(ffn_act_q8, 31, kNullable, BufferRows::kComposite, "bytes",
              "q8_1 of [m, up(max(h, I), 256)] and 1 MiB of slack"),
    DM_BUFFER(ffn_act_a, 32, kNullable, BufferRows::kBatch, "U8",
              "[m, max(h, I)] int8, or [m, max(h, I)/2] packed 4-bit"),
    DM_BUFFER(ffn_act_scale, 33, kNullable, BufferRows::kBatch, "F32",
              "[m, max(h, I)/32], or one byte [m, max(h, I)/16]"),
    DM_BUFFER(fp8_act, 34, 0, BufferRows::kBatch, "U8", "[m, max(h, nq*hd, di)]"),
    DM_BUFFER(fp8_act_scale, 35, 0, BufferRows::kBatch, "F32", "[m, cdiv(max(h, nq*hd, di), 128)]"),
    DM_BUFFER(lora_xa, 37, kNullable, BufferRows::kBatch, "BF16", "[m, ar]"),
    DM_BUFFER(lora_delta, 38, kNullable, BufferRows::kBatch, "BF16", "[m, max(h, I, gm*nq*hd)]"),
    DM_BUFFER(lora_hact, 39, kNullable, BufferRows::kBatch, "BF16", "[m, I]"),
    DM_BUFFER(lora_seq_slot, 40, kNullable, BufferRows::kBatch, "I32", "[m]"),
    DM_BUFFER(q2_dequant_scratch, 36, kNullable, BufferRows::kHidden, "BF16",
              "[h, max(I, qkvz, inp, nq*gm*hd, 2*nkv*hd)]"),
    DM_BUFFER(q2_act_q8, 41, kNullable, BufferRows::kComposite, "bytes",
              "q8_1 of [m, up(max(h, I, nq*hd), 256)] and 1 MiB of slack"),
};
#undef DM_BUFFER
static_assert(kBufferFields.size() == 41);
static_assert(sizeof(BufferRecord<std::uint64_t>) == 41 * sizeof(std::uint64_t));

// The same 41 in the order of allocation.
inline constexpr std::array<const BufferField*, kBufferFields.size()> kBufferFieldsInArenaOrder =
    [] {
      std::array<const BufferField*, kBufferFields.size()> order{};
      for (const BufferField& field : kBufferFields) order[field.arena_order - 1] = &field;
      return order;
    }();

// nullptr for a name that is no buffer's.
constexpr const BufferField* FindBufferField(std::string_view name) {
  for (const BufferField& field : kBufferFields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_BUFFER_FIELDS_H_
