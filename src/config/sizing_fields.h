// SizingFields: the 34 numbers of a model config that decide how large the buffers of one forward
// pass are, and nothing else of the config.
//
//   DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text, "flat.json"));
//   DM_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Root(json, "flat.json"));
//   DM_ASSIGN_OR_RETURN(const SizingFields fields, ParseSizingFields(root));
//
// Names, order and defaults are those of spec/buffer_sizes.md section 3. Zero means that the
// feature is absent. Counts and widths are in elements, heads, experts or ranks; no field is in
// bytes. A plain value type.
#ifndef DRAFTMARK_SRC_CONFIG_SIZING_FIELDS_H_
#define DRAFTMARK_SRC_CONFIG_SIZING_FIELDS_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "src/base/json.h"
#include "src/base/status.h"

namespace draftmark {

struct SizingFields {
  std::uint64_t hidden_size = 0;             // h
  std::uint64_t intermediate_size = 0;       // I, the dense FFN; 0 for a pure MoE config
  std::uint64_t vocab_size = 0;              // V
  std::uint64_t num_attention_heads = 0;     // nq, of the widest layer
  std::uint64_t num_key_value_heads = 0;     // nkv
  std::uint64_t head_dim = 0;                // hd
  bool attn_gated = false;                   // the Q projection also emits a gate of equal width
  bool mrope_interleaved = false;            // three position streams instead of one
  std::uint64_t linear_num_key_heads = 0;    // nk, gated delta net
  std::uint64_t linear_key_head_dim = 0;     // kd
  std::uint64_t linear_num_value_heads = 0;  // nv
  std::uint64_t linear_value_head_dim = 0;   // vd
  std::uint64_t num_experts = 0;             // E, routed; above 0 selects the MoE branches
  std::uint64_t zero_expert_num = 0;         // Z, only adds router logits
  std::uint64_t num_experts_per_tok = 1;     // k; 1 also for dense models
  std::uint64_t moe_intermediate_size = 0;   // mi, of the widest layer
  std::uint64_t shared_expert_intermediate_size = 0;  // sh
  std::uint64_t moe_latent_size = 0;       // lat, LatentMoE; 0: the experts work on hidden_size
  std::uint64_t mamba_num_heads = 0;       // mh, Mamba-2
  std::uint64_t mamba_head_dim = 0;        // md
  std::uint64_t ssm_state_size = 0;        // st
  std::uint64_t n_groups = 0;              // ng
  std::uint64_t kv_lora_rank = 0;          // kvr, MLA; above 0 selects all MLA terms
  std::uint64_t q_lora_rank = 0;           // qr
  std::uint64_t qk_rope_head_dim = 0;      // rd
  std::uint64_t o_lora_rank = 0;           // orank, per group of the grouped O projection
  std::uint64_t o_groups = 0;              // og
  std::uint64_t hc_mult = 0;               // hc, hyper-connection residual streams
  std::uint64_t hc_lowrank = 0;            // hr, rank of the stream mixer
  std::uint64_t index_n_heads = 0;         // xh, sparse-attention indexer
  std::uint64_t index_head_dim = 0;        // xd
  std::uint64_t index_topk = 0;            // xk, in tokens
  std::uint64_t index_compress_ratio = 0;  // xr, tokens per indexer block
  std::uint64_t adapter_max_rank = 0;      // ar, LoRA; set by the server, never by a model config

  bool operator==(const SizingFields&) const = default;
};

// One entry per field: its name and the member it lives in. Exactly one of the two pointers is set.
struct SizingField {
  std::string_view name;
  std::uint64_t SizingFields::*count = nullptr;
  bool SizingFields::*flag = nullptr;
};

#define DM_SIZING_COUNT(name) \
  SizingField { #name, &SizingFields::name, nullptr }
#define DM_SIZING_FLAG(name) \
  SizingField { #name, nullptr, &SizingFields::name }
// All fields in the spec's order.
inline constexpr std::array kSizingFields = {
    DM_SIZING_COUNT(hidden_size),
    DM_SIZING_COUNT(intermediate_size),
    DM_SIZING_COUNT(vocab_size),
    DM_SIZING_COUNT(num_attention_heads),
    DM_SIZING_COUNT(num_key_value_heads),
    DM_SIZING_COUNT(head_dim),
    DM_SIZING_FLAG(attn_gated),
    DM_SIZING_FLAG(mrope_interleaved),
    DM_SIZING_COUNT(linear_num_key_heads),
    DM_SIZING_COUNT(linear_key_head_dim),
    DM_SIZING_COUNT(linear_num_value_heads),
    DM_SIZING_COUNT(linear_value_head_dim),
    DM_SIZING_COUNT(num_experts),
    DM_SIZING_COUNT(zero_expert_num),
    DM_SIZING_COUNT(num_experts_per_tok),
    DM_SIZING_COUNT(moe_intermediate_size),
    DM_SIZING_COUNT(shared_expert_intermediate_size),
    DM_SIZING_COUNT(moe_latent_size),
    DM_SIZING_COUNT(mamba_num_heads),
    DM_SIZING_COUNT(mamba_head_dim),
    DM_SIZING_COUNT(ssm_state_size),
    DM_SIZING_COUNT(n_groups),
    DM_SIZING_COUNT(kv_lora_rank),
    DM_SIZING_COUNT(q_lora_rank),
    DM_SIZING_COUNT(qk_rope_head_dim),
    DM_SIZING_COUNT(o_lora_rank),
    DM_SIZING_COUNT(o_groups),
    DM_SIZING_COUNT(hc_mult),
    DM_SIZING_COUNT(hc_lowrank),
    DM_SIZING_COUNT(index_n_heads),
    DM_SIZING_COUNT(index_head_dim),
    DM_SIZING_COUNT(index_topk),
    DM_SIZING_COUNT(index_compress_ratio),
    DM_SIZING_COUNT(adapter_max_rank),
};
#undef DM_SIZING_COUNT
#undef DM_SIZING_FLAG
static_assert(kSizingFields.size() == 34);

// The flat form: an object with exactly the 34 keys. An absent (or null) key is NOT_FOUND, a wrong
// type, a negative, a fraction, a number above 2^64-1 or a key that is no sizing field is
// INVALID_ARGUMENT; each message names source, key, expected and found. Nothing is guessed: a
// misspelt key would otherwise silently size a feature at zero.
StatusOr<SizingFields> ParseSizingFields(const JsonObject& object);

// The 34 keys in order; ParseSizingFields reads it back.
OrderedJson ToJson(const SizingFields& fields);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CONFIG_SIZING_FIELDS_H_
