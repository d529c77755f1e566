// What a drafter's numbers must satisfy together, and how many parameters they make.
#include <fmt/format.h>

#include <cmath>

#include "src/base/checked.h"
#include "src/config/drafter_layout.h"

namespace draftmark {
namespace {

// spec/drafter.md section 1.1.
CheckedU64 Parameters(const DrafterConfig& c) {
  const CheckedU64 h = c.hidden_size;
  const CheckedU64 d = c.head_dim;
  const CheckedU64 q_dim = CheckedU64(c.num_attention_heads) * d;
  const CheckedU64 kv_dim = CheckedU64(c.num_key_value_heads) * d;
  CheckedU64 layer = h * q_dim * 2 + h * kv_dim * 2;  // q, o; k, v
  if (c.attention_bias) layer += q_dim + kv_dim * 2 + h;
  layer += h * c.intermediate_size * 3;  // gate, up, down
  layer += h * 2 + d * 2;                // two norms of the layer, two of the heads
  if (c.kind == DrafterKind::kDflash2) {
    // Two sites, each with a base kernel [2, K, h] and a projection [2*K*h/G, h].
    const CheckedU64 sides_taps = CheckedU64(c.conv_kernel_size) * 2;
    layer += (sides_taps * h + sides_taps * FloorDiv(h, c.conv_group_size) * h) * 2;
  }
  CheckedU64 total = layer * c.num_hidden_layers;
  total += CheckedU64(c.target_layer_ids.size()) * c.target_hidden_size * h + h * 2;  // fc, norms
  const CheckedU64 vocab = c.vocab_size;
  if (c.kind == DrafterKind::kDflash2) {
    total += vocab * c.selector_rank * 2 + h * c.selector_rank;  // two codebooks, a projection
  }
  if (c.markov_rank > 0) {
    const CheckedU64 r = c.markov_rank;
    total += vocab * r * 2;
    const std::string type = c.markov_head_type.value_or("vanilla");
    if (type == "gated") total += r * (h + r) + r;
    if (type == "rnn") total += r * 3 * (r * 2 + h) + r * 3;
  }
  if (c.confidence_head) {
    total += h + (c.confidence_head_with_markov ? CheckedU64(c.markov_rank) : CheckedU64(0)) + 1;
  }
  return total;
}

}  // namespace

std::uint64_t CountDrafterParameters(const DrafterConfig& config) {
  return Parameters(config).value();  // fits: checked when the config was read
}

namespace internal {
namespace {

Status CheckProducts(const DrafterLayout& layout, const DrafterConfig& c) {
  const CheckedU64 block = c.block_size;
  const CheckedU64 q_dim = CheckedU64(c.num_attention_heads) * c.head_dim;
  const CheckedU64 kv_dim = CheckedU64(c.num_key_value_heads) * c.head_dim;
  constexpr std::uint64_t kBf16 = 2;
  constexpr std::uint64_t kWidest = 8;  // bytes of the widest element that anyone stores per row
  const struct {
    std::string_view name;
    CheckedU64 bytes;
  } products[] = {
      {"num_attention_heads * head_dim", q_dim * kWidest},
      {"num_key_value_heads * head_dim * num_hidden_layers", kv_dim * 2 * c.num_hidden_layers},
      {"target_layer_ids * target_hidden_size",
       CheckedU64(c.target_layer_ids.size()) * c.target_hidden_size * kWidest},
      {"vocab_size * hidden_size", CheckedU64(c.vocab_size) * c.hidden_size * kBf16},
      {"block_size * vocab_size", block * c.vocab_size * kWidest},
      {"block_size * intermediate_size", block * c.intermediate_size * kWidest},
      {"block_size * num_attention_heads * head_dim", block * q_dim * kWidest},
      {"block_size * hidden_size", block * c.hidden_size * kWidest},
      {"the parameters of all layers", Parameters(c) * kBf16},
  };
  for (const auto& product : products) {
    if (!product.bytes.ok()) {
      return OutOfRangeError(
          fmt::format("{}: {} does not fit 64 bits in bytes", layout.root.source(), product.name));
    }
  }
  return OkStatus();
}

Status CheckTaps(const DrafterLayout& layout, const DrafterConfig& c) {
  const bool as_states = c.target_layer_ids != c.target_layer_ids_as_written;
  const std::string where =
      layout.Scheme({as_states ? "aux_hidden_state_layer_ids" : "target_layer_ids"}).Where();
  if (c.target_layer_ids.empty()) {
    return InvalidArgumentError(where + ": expected at least one target layer, found []");
  }
  if (c.target_hidden_size == 0) {
    return InvalidArgumentError(layout.Scheme({"target_hidden_size"}).Where() +
                                ": expected a size above 0, found 0");
  }
  for (std::size_t i = 0; i < c.target_layer_ids.size(); ++i) {
    const std::int64_t id = c.target_layer_ids[i];
    // -1 is the embedding's output.
    const bool below = id < -1;
    const bool above =
        c.num_target_layers && id >= 0 && static_cast<std::uint64_t>(id) >= *c.num_target_layers;
    if (!below && !above) continue;
    return InvalidArgumentError(fmt::format(
        "{}[{}]: expected a layer of the target ({}), found {}", where, i,
        c.num_target_layers ? fmt::format("num_target_layers is {}", *c.num_target_layers)
                            : "-1 is its embedding",
        c.target_layer_ids_as_written[i]));
  }
  return OkStatus();
}

Status CheckRopeWidth(const DrafterLayout& layout, const DrafterConfig& c) {
  if (c.head_dim % 2 != 0) return layout.geometry.TypeError("head_dim", "an even width");
  const double width = static_cast<double>(c.head_dim) * c.rope.partial_rotary_factor;
  const bool whole = std::floor(width) == width && std::fmod(width, 2.0) == 0;
  if (!whole || !(width > 0) || width > static_cast<double>(c.head_dim)) {
    return InvalidArgumentError(fmt::format(
        "{}: partial_rotary_factor {} of head_dim {} gives a rotary width of {}, which is not even "
        "and between 2 and head_dim",
        layout.root.source(), c.rope.partial_rotary_factor, c.head_dim, width));
  }
  return OkStatus();
}

}  // namespace

Status CheckDrafter(const DrafterLayout& layout, const DrafterConfig& c) {
  if (c.num_attention_heads % c.num_key_value_heads != 0) {
    return layout.geometry.TypeError(
        "num_key_value_heads",
        fmt::format("a divisor of num_attention_heads = {}", c.num_attention_heads));
  }
  DM_RETURN_IF_ERROR(CheckRopeWidth(layout, c));
  DM_RETURN_IF_ERROR(CheckTaps(layout, c));
  // Under convention A row 0 drafts nothing.
  const std::uint64_t least_rows = c.row_convention == RowConvention::kInPlace ? 2 : 1;
  const std::string where = layout.root.source();
  if (c.block_size < least_rows) {
    return InvalidArgumentError(fmt::format("{}: expected at least {}, found {}",
                                            layout.Scheme({"block_size"}).Where(), least_rows,
                                            c.block_size));
  }
  if (c.mask_token_id && *c.mask_token_id >= c.vocab_size) {
    return InvalidArgumentError(
        fmt::format("{}: mask_token_id: expected a token below vocab_size = {}, found {}", where,
                    c.vocab_size, *c.mask_token_id));
  }
  if (!(c.rms_norm_eps > 0) || c.rms_norm_eps >= 1) {
    return layout.geometry.TypeError("rms_norm_eps", "a number between 0 and 1");
  }
  if (c.output_multiplier == 0) {
    return InvalidArgumentError(where + ": output_multiplier: expected a factor, found 0");
  }
  if (c.final_logit_softcapping && *c.final_logit_softcapping <= 0) {
    return InvalidArgumentError(
        fmt::format("{}: final_logit_softcapping: expected a number above 0, found {}", where,
                    *c.final_logit_softcapping));
  }
  if (c.kind == DrafterKind::kDflash2) {
    if (c.hidden_size % c.conv_group_size != 0) {
      return InvalidArgumentError(
          fmt::format("{}: conv_group_size: expected a divisor of hidden_size = {}, found {}",
                      where, c.hidden_size, c.conv_group_size));
    }
    if (c.selector_top_k > c.vocab_size) {
      return InvalidArgumentError(
          fmt::format("{}: selector_top_k: expected at most vocab_size = {}, found {}", where,
                      c.vocab_size, c.selector_top_k));
    }
  }
  return CheckProducts(layout, c);
}

Status CheckRecordedValues(const DrafterLayout& layout, const DrafterConfig& c) {
  if (layout.form != DrafterForm::kEntry) return OkStatus();
  const struct {
    std::string_view key;
    std::uint64_t ours;
  } values[] = {
      {"gqa_ratio", c.num_attention_heads / c.num_key_value_heads},
      {"draft_tokens_per_block", c.drafts(c.block_size)},
      {"num_target_taps", c.target_layer_ids.size()},
      {"weights_params_computed", CountDrafterParameters(c)},
  };
  for (const auto& value : values) {
    DM_ASSIGN_OR_RETURN(const auto recorded, layout.root.OptionalU64(value.key));
    if (recorded && *recorded != value.ours) {
      return InvalidArgumentError(fmt::format("{}: recorded as {}, but the geometry makes it {}",
                                              layout.root.Where(value.key), *recorded, value.ours));
    }
  }
  return OkStatus();
}

}  // namespace internal
}  // namespace draftmark
