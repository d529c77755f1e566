// DflashScratch: the per-draft buffers of a DFlash drafter, and a table of its fields.
//
// Names and order are the seeds': version 2 has all 27 fields (seeds/001), version 1 the same
// without precompute_in, 26 (seeds/000). The struct is plain and owns nothing; DflashScratchMemory
// fills it, DflashScratchLayout says how large each field is. Field facts: spec/dflash_scratch.md
// section 1. Rows mean ctx_window + gamma rows (v1) or max(ctx_window + gamma, nb * gamma) (v2).
//
// Thread-safety: fields do not change between construction and release, so any thread may read
// them. The pinned pointer is atomic only so that the struct as a whole may be shared: it is set
// once, and relaxed loads are enough.
#ifndef DRAFTMARK_SRC_SCRATCH_DFLASH_FIELDS_H_
#define DRAFTMARK_SRC_SCRATCH_DFLASH_FIELDS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "src/scratch/device_address.h"
#include "src/tensor/bfloat16.h"

namespace draftmark {

struct DflashScratch {
  DevicePtr<BFloat16> stream_buf;        // [rows, h]
  DevicePtr<BFloat16> norm_buf;          // [rows, h]; precompute: I32 positions [L*n]
  DevicePtr<BFloat16> q_buf;             // [rows, q_dim]
  DevicePtr<BFloat16> k_buf;             // [rows, kv_dim]
  DevicePtr<BFloat16> v_buf;             // [rows, kv_dim]; precompute: V stage [n, kv_dim]
  DevicePtr<BFloat16> attn_out;          // [rows, q_dim]
  DevicePtr<BFloat16> mlp_intermediate;  // [rows, I]; precompute: K stage [L*n, kv_dim]
  DevicePtr<BFloat16> mlp_up;            // [rows, I]
  DevicePtr<BFloat16> stream_acc;        // [rows, h]
  DevicePtr<BFloat16> fc_proj;           // [ctx_window, h]
  DevicePtr<BFloat16> fused_kv_out;      // [ctx_window, L*2*kv_dim]
  DevicePtr<void> slot_mapping_dev;      // I64, or I32 in v1 `doc`: see the layout's dtype
  DevicePtr<BFloat16> precompute_in;     // [256, L_t*h_t]; version 2 only
  DevicePtr<std::uint32_t> option_b_indirect_args_dev;    // records of two or three words
  std::atomic<std::uint8_t*> draft_tokens_host_pinned{};  // U32 [nb*gamma], host
  std::uint64_t draft_tokens_event = 0;                   // an EventSource's handle
  DevicePtr<BFloat16> logits;                             // [logit rows, V]
  DevicePtr<std::uint32_t> draft_tokens_dev;              // [rows]
  DevicePtr<std::int32_t> position_ids;                   // [rows]
  DevicePtr<BFloat16> markov_embed;                       // [1, r_m]
  DevicePtr<BFloat16> markov_bias;                        // [V]
  DevicePtr<BFloat16> conf_out;                           // [gamma]
  DevicePtr<BFloat16> conv_dyn;                           // [nb*gamma, 2*taps*groups]
  DevicePtr<BFloat16> conv_tmp;                           // [nb*gamma, h]
  DevicePtr<float> sel_vals;                              // [nb*gamma, 16]
  DevicePtr<std::uint32_t> sel_idx;                       // [nb*gamma, 16]
  DevicePtr<BFloat16> sel_hproj;                          // [nb*gamma, r]
};

enum class DflashMemory { kDevice, kHostPinned, kEvent };
std::string_view DflashMemoryName(DflashMemory memory);  // "device", "host pinned", "event"

// When a field is null (section 1, NULL rules). A null field must never reach a kernel.
enum class NullRule { kNever, kNoMarkovRank, kNoConfidenceTensor, kNoSelectorTensor };
std::string_view NullRuleText(NullRule rule);

// Whether captured graphs hold the field's address.
enum class PointerStability {
  kStable,            // baked into captured graphs: must never move
  kEager,             // used outside of graphs only
  kIfCopyIsCaptured,  // stable if the copy to the host is part of a graph
  kNoPointer,
};
std::string_view PointerStabilityText(PointerStability stability);

struct DflashField {
  std::string_view name;
  DflashMemory memory;
  NullRule null_rule;
  // Kernels read GEMM operands and 16-byte copies from it. Otherwise the alignment is the
  // element's.
  bool wide_access;
  PointerStability stability;
  std::string_view producer;
  std::string_view consumer;
  // The pointer; nullptr for the pinned buffer and the event.
  DeviceAddress& (*address)(DflashScratch&);
};

#define DM_DEVICE(name, null_rule, wide, stability, producer, consumer)                   \
  DflashField {                                                                           \
#name, DflashMemory::kDevice, NullRule::null_rule, wide, PointerStability::stability, \
        producer, consumer, [](DflashScratch & s) -> DeviceAddress& { return s.name; }    \
  }
// In the seeds' order.
inline constexpr std::array kDflashFields = {
    DM_DEVICE(stream_buf, kNever, true, kStable, "embed, residual add", "norms"),
    DM_DEVICE(norm_buf, kNever, true, kStable, "norms, final norm",
              "GEMMs, lm_head, confidence, hidden projection"),
    DM_DEVICE(q_buf, kNever, true, kStable, "q_proj, q_norm, rope", "attention"),
    DM_DEVICE(k_buf, kNever, true, kStable, "k_proj, k_norm, rope", "cache write"),
    DM_DEVICE(v_buf, kNever, true, kStable, "v_proj", "cache write"),
    DM_DEVICE(attn_out, kNever, true, kStable, "attention", "o_proj"),
    DM_DEVICE(mlp_intermediate, kNever, true, kStable, "gate_proj, silu_mul", "down_proj"),
    DM_DEVICE(mlp_up, kNever, true, kStable, "up_proj", "silu_mul"),
    DM_DEVICE(stream_acc, kNever, true, kStable, "o_proj, down_proj",
              "conv finish or residual add"),
    DM_DEVICE(fc_proj, kNever, true, kEager, "fc, hidden_norm", "fused KV GEMM"),
    DM_DEVICE(fused_kv_out, kNever, true, kEager, "fused KV GEMM", "split"),
    DM_DEVICE(slot_mapping_dev, kNever, false, kStable, "slot fill or H2D", "cache write"),
    DM_DEVICE(precompute_in, kNever, true, kEager, "D2D copies of the sequences' tails", "fc"),
    DM_DEVICE(option_b_indirect_args_dev, kNever, false, kStable, "H2D before the launch",
              "attention at entry"),
    DflashField{"draft_tokens_host_pinned", DflashMemory::kHostPinned, NullRule::kNever, false,
                PointerStability::kIfCopyIsCaptured, "asynchronous D2H", "host, after the event",
                nullptr},
    DflashField{"draft_tokens_event", DflashMemory::kEvent, NullRule::kNever, false,
                PointerStability::kNoPointer, "recorded right after the D2H", "host wait", nullptr},
    DM_DEVICE(logits, kNever, true, kStable, "lm_head (and Markov bias)",
              "argmax or top-16 (destructive)"),
    DM_DEVICE(draft_tokens_dev, kNever, false, kStable, "H2D, argmax or walk",
              "embed, Markov gather, walk, D2H"),
    DM_DEVICE(position_ids, kNever, false, kStable, "H2D", "rope"),
    DM_DEVICE(markov_embed, kNoMarkovRank, true, kStable, "gather of w1", "GEMV w2, confidence"),
    DM_DEVICE(markov_bias, kNoMarkovRank, true, kStable, "GEMV w2", "add onto one logits row"),
    DM_DEVICE(conf_out, kNoConfidenceTensor, false, kStable, "confidence GEMV", "D2H to the host"),
    DM_DEVICE(conv_dyn, kNoSelectorTensor, true, kStable, "kernel_projection",
              "conv prepare, conv finish"),
    DM_DEVICE(conv_tmp, kNoSelectorTensor, true, kStable, "convolution",
              "sublayer GEMMs, residual add"),
    DM_DEVICE(sel_vals, kNoSelectorTensor, false, kStable, "top-16", "walk"),
    DM_DEVICE(sel_idx, kNoSelectorTensor, false, kStable, "top-16", "walk"),
    DM_DEVICE(sel_hproj, kNoSelectorTensor, true, kStable, "hidden_projection", "walk"),
};
#undef DM_DEVICE
static_assert(kDflashFields.size() == 27);

// The field that only version 2 has.
inline constexpr std::string_view kV2OnlyField = "precompute_in";

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_DFLASH_FIELDS_H_
