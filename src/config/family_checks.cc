// What the 34 fields must satisfy together: spec/model_config.md section 5.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/checked.h"
#include "src/config/family.h"

namespace draftmark::internal {
namespace {

Status Contradiction(const std::string& source, const std::string& what) {
  return InvalidArgumentError(fmt::format("{}: {}", source, what));
}

// A feature whose fields only make sense together.
struct Group {
  std::string_view name;
  std::vector<std::string_view> fields;
};

const std::vector<Group>& Groups() {
  static const auto* const kGroups = new std::vector<Group>{
      {"linear attention",
       {"linear_num_key_heads", "linear_key_head_dim", "linear_num_value_heads",
        "linear_value_head_dim"}},
      {"the indexer", {"index_n_heads", "index_head_dim", "index_topk"}},
      {"the grouped output projection", {"o_groups", "o_lora_rank"}},
  };
  return *kGroups;
}

std::uint64_t CountOf(const SizingFields& fields, std::string_view name) {
  for (const SizingField& field : kSizingFields) {
    if (field.name == name) return fields.*field.count;
  }
  DM_CHECK(false);
  return 0;
}

Status CheckGroups(const std::string& source, const SizingFields& fields) {
  for (const Group& group : Groups()) {
    std::vector<std::string> values;
    std::size_t set = 0;
    for (const std::string_view name : group.fields) {
      const std::uint64_t value = CountOf(fields, name);
      set += value != 0 ? 1 : 0;
      values.push_back(fmt::format("{} {}", name, value));
    }
    if (set != 0 && set != group.fields.size()) {
      return Contradiction(source, fmt::format("{} needs all of its fields or none, found {}",
                                               group.name, fmt::join(values, ", ")));
    }
  }
  return OkStatus();
}

// Products into which no argument of the sizing enters (spec/buffer_sizes.md sections 4 and 9).
Status CheckProducts(const std::string& source, const SizingFields& f) {
  const auto u = [](std::uint64_t value) { return CheckedU64(value); };
  const CheckedU64 inner = u(f.mamba_num_heads) * f.mamba_head_dim;
  const CheckedU64 query = u(f.num_attention_heads) * f.head_dim;
  const struct {
    std::string_view name;
    CheckedU64 value;
  } products[] = {
      {"num_attention_heads * head_dim", query * (f.attn_gated ? 2 : 1) * 2},
      {"num_key_value_heads * head_dim", u(f.num_key_value_heads) * f.head_dim * 4},
      {"head_dim + 2", u(f.head_dim) + 2},
      {"num_experts + zero_expert_num", u(f.num_experts) + f.zero_expert_num},
      {"num_experts_per_tok * moe_intermediate_size",
       u(f.num_experts_per_tok) * f.moe_intermediate_size * 2},
      {"linear_num_*_heads * linear_*_head_dim",
       u(f.linear_num_key_heads) * f.linear_key_head_dim * 2 +
           u(f.linear_num_value_heads) * f.linear_value_head_dim * 2},
      {"mamba_num_heads * mamba_head_dim and n_groups * ssm_state_size",
       inner * 2 + u(f.n_groups) * f.ssm_state_size * 2 + f.mamba_num_heads},
      {"kv_lora_rank + qk_rope_head_dim", u(f.kv_lora_rank) + f.qk_rope_head_dim},
      {"o_groups * o_lora_rank", u(f.o_groups) * f.o_lora_rank},
      {"hc_mult * hc_mult", u(f.hc_mult) * f.hc_mult},
      {"hc_mult * hidden_size", u(f.hc_mult) * f.hidden_size},
      {"index_n_heads * index_head_dim", (u(f.index_n_heads) + 1) * f.index_head_dim},
      {"vocab_size * hidden_size", u(f.vocab_size) * f.hidden_size * 2},
  };
  for (const auto& product : products) {
    if (!product.value.ok()) {
      return OutOfRangeError(fmt::format("{}: {} does not fit 64 bits", source, product.name));
    }
  }
  return OkStatus();
}

}  // namespace

Status CheckFields(const std::string& source, const SizingFields& f) {
  // Latent attention has no groups of query heads.
  if (f.kv_lora_rank == 0 && f.num_attention_heads % f.num_key_value_heads != 0) {
    return Contradiction(
        source, fmt::format("num_attention_heads = {} is no multiple of num_key_value_heads = {}",
                            f.num_attention_heads, f.num_key_value_heads));
  }
  DM_RETURN_IF_ERROR(CheckProducts(source, f));
  DM_RETURN_IF_ERROR(CheckGroups(source, f));
  if (f.num_experts > 0 && f.moe_intermediate_size == 0) {
    return Contradiction(source, "moe_intermediate_size is 0, but there are experts");
  }
  if (f.num_experts > 0 && f.num_experts_per_tok > f.num_experts + f.zero_expert_num) {
    return Contradiction(source,
                         fmt::format("num_experts_per_tok = {} is more than num_experts + "
                                     "zero_expert_num = {}",
                                     f.num_experts_per_tok, f.num_experts + f.zero_expert_num));
  }
  if (f.hc_lowrank > 0 && f.hc_mult == 0) {
    return Contradiction(source,
                         fmt::format("hc_lowrank = {}, but hc_mult is 0 or absent", f.hc_lowrank));
  }
  return OkStatus();
}

}  // namespace draftmark::internal
