#include "src/scratch/dflash_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/check.h"
#include "src/base/checked.h"
#include "src/faults/fault.h"

namespace draftmark {
namespace {

struct LayoutNameEntry {
  DflashLayoutName name;
  std::string_view text;
  std::uint64_t version;
};
// The first of each version is its default.
constexpr LayoutNameEntry kLayoutNames[] = {
    {DflashLayoutName::kDoc, "doc", 1},
    {DflashLayoutName::kCodeA, "code-a", 1},
    {DflashLayoutName::kCodeB, "code-b", 1},
    {DflashLayoutName::kNormative, "normative", 2},
    {DflashLayoutName::kAsUpstream, "as-upstream", 2},
};

std::uint64_t VersionOf(DflashLayoutName name) {
  for (const LayoutNameEntry& entry : kLayoutNames) {
    if (entry.name == name) return entry.version;
  }
  return 0;
}

Status CheckAboveZero(std::string_view name, std::uint64_t value) {
  if (value > 0) return OkStatus();
  return InvalidArgumentError(fmt::format("{}: expected a number above 0, found 0", name));
}

Status CheckGeometry(const DflashGeometry& g, const DrafterTensorsPresent& tensors) {
  DM_RETURN_IF_ERROR(CheckAboveZero("hidden_size", g.hidden_size));
  DM_RETURN_IF_ERROR(CheckAboveZero("num_hidden_layers", g.num_hidden_layers));
  DM_RETURN_IF_ERROR(CheckAboveZero("num_attention_heads", g.num_attention_heads));
  DM_RETURN_IF_ERROR(CheckAboveZero("num_key_value_heads", g.num_key_value_heads));
  DM_RETURN_IF_ERROR(CheckAboveZero("head_dim", g.head_dim));
  DM_RETURN_IF_ERROR(CheckAboveZero("intermediate_size", g.intermediate_size));
  DM_RETURN_IF_ERROR(CheckAboveZero("vocab_size", g.vocab_size));
  DM_RETURN_IF_ERROR(CheckAboveZero("target_layer_ids (their count)", g.target_taps));
  DM_RETURN_IF_ERROR(CheckAboveZero("target_hidden_size", g.target_hidden_size));
  if (g.num_attention_heads % g.num_key_value_heads != 0) {
    return InvalidArgumentError(fmt::format(
        "num_attention_heads: expected a multiple of num_key_value_heads ({}), found {}",
        g.num_key_value_heads, g.num_attention_heads));
  }
  if (tensors.convs && !tensors.selector) {
    return UnimplementedError(
        "selector: expected a candidate selector beside the convolutions, found none (conv_dyn and "
        "conv_tmp would be null and the convolutions would never run)");
  }
  if (tensors.selector && g.conv_group_size > 0 && g.hidden_size % g.conv_group_size != 0) {
    return InvalidArgumentError(
        fmt::format("conv_group_size: expected a divisor of hidden_size ({}), found {}",
                    g.hidden_size, g.conv_group_size));
  }
  return OkStatus();
}

// Fills in defaults and checks everything but sizes.
Status Complete(DflashScratchRequest& request) {
  if (request.version != 1 && request.version != 2) {
    return InvalidArgumentError(fmt::format("version: expected 1 or 2, found {}", request.version));
  }
  if (!request.layout.has_value()) {
    request.layout = request.version == 1 ? DflashLayoutName::kDoc : DflashLayoutName::kNormative;
  } else if (VersionOf(*request.layout) != request.version) {
    return InvalidArgumentError(fmt::format("layout: {} belongs to version {}, found version {}",
                                            DflashLayoutNameText(*request.layout),
                                            VersionOf(*request.layout), request.version));
  }
  DM_RETURN_IF_ERROR(CheckGeometry(request.geometry, request.tensors));
  DM_RETURN_IF_ERROR(CheckAboveZero("ctx_window", request.ctx_window));
  DM_RETURN_IF_ERROR(CheckAboveZero("max_batch", request.max_batch));
  if (request.version == 1 && request.max_batch != 1) {
    return InvalidArgumentError(fmt::format(
        "max_batch: version 1 holds a single sequence, expected 1, found {}", request.max_batch));
  }
  if (!request.gamma.has_value()) request.gamma = request.geometry.block_size;
  return CheckAboveZero("gamma", *request.gamma);
}

// Everything sizes are made of, checked. Symbols of the spec.
struct Terms {
  CheckedU64 q_dim, kv_dim, rows, block_rows, logit_rows, slots, taps_width, fused_width;
  std::uint64_t argument_words = 3;
  DType slot_dtype = DType::kI64;

  explicit Terms(const DflashScratchRequest& r) {
    const DflashGeometry& g = r.geometry;
    const CheckedU64 n_attn = CheckedU64(r.ctx_window) + *r.gamma;
    q_dim = CheckedU64(g.num_attention_heads) * g.head_dim;
    kv_dim = CheckedU64(g.num_key_value_heads) * g.head_dim;
    block_rows = CheckedU64(r.max_batch) * *r.gamma;
    rows = r.version == 1 ? n_attn : Max({n_attn, block_rows});
    logit_rows = block_rows;
    slots = r.ctx_window;
    taps_width = CheckedU64(g.target_taps) * g.target_hidden_size;
    fused_width = kv_dim * 2 * g.num_hidden_layers;
    switch (*r.layout) {
      case DflashLayoutName::kDoc:
        slot_dtype = DType::kI32;
        argument_words = 2;
        logit_rows = n_attn;
        break;
      case DflashLayoutName::kCodeA:
        argument_words = 2;
        logit_rows = n_attn;
        break;
      case DflashLayoutName::kNormative:
        // Block rows are written at element b*w + j; ctx_window entries are too few for many bands.
        slots = DM_FAULT(kSlotBufferTooSmall) ? CheckedU64(r.ctx_window)
                                              : Max({r.ctx_window, block_rows});
        break;
      case DflashLayoutName::kCodeB:
      case DflashLayoutName::kAsUpstream:
        break;
    }
  }
};

struct FieldShape {
  DType dtype;
  std::vector<CheckedU64> dims;
};

// The shape of every field by name: section 1's table.
FieldShape ShapeOf(std::string_view name, const DflashScratchRequest& r, const Terms& t) {
  const DflashGeometry& g = r.geometry;
  constexpr DType kB = DType::kBF16;
  const std::uint64_t taps = std::max<std::uint64_t>(g.conv_kernel_size, 1);
  const std::uint64_t group = std::max<std::uint64_t>(g.conv_group_size, 1);
  const std::uint64_t rank =
      std::max<std::uint64_t>(g.selector_rank.value_or(kDefaultSelectorRank), 1);
  if (name == "q_buf" || name == "attn_out") return {kB, {t.rows, t.q_dim}};
  if (name == "k_buf" || name == "v_buf") return {kB, {t.rows, t.kv_dim}};
  if (name == "mlp_intermediate" || name == "mlp_up") return {kB, {t.rows, g.intermediate_size}};
  if (name == "fc_proj") return {kB, {r.ctx_window, g.hidden_size}};
  if (name == "fused_kv_out") return {kB, {r.ctx_window, t.fused_width}};
  if (name == "slot_mapping_dev") return {t.slot_dtype, {t.slots}};
  if (name == "precompute_in") return {kB, {kPrecomputeBatchRows, t.taps_width}};
  if (name == "option_b_indirect_args_dev") {
    return {DType::kU32, {r.max_batch, t.argument_words}};
  }
  if (name == "draft_tokens_host_pinned") return {DType::kU32, {t.block_rows}};
  if (name == "logits") return {kB, {t.logit_rows, g.vocab_size}};
  if (name == "draft_tokens_dev") return {DType::kU32, {t.rows}};
  if (name == "position_ids") return {DType::kI32, {t.rows}};
  if (name == "markov_embed") return {kB, {1, g.markov_rank}};
  if (name == "markov_bias") return {kB, {g.vocab_size}};
  if (name == "conf_out") return {kB, {r.batched_heads ? t.block_rows : CheckedU64(*r.gamma)}};
  if (name == "conv_dyn") return {kB, {t.block_rows, 2, taps, g.hidden_size / group}};
  if (name == "conv_tmp") return {kB, {t.block_rows, g.hidden_size}};
  if (name == "sel_vals") return {DType::kF32, {t.block_rows, kSelectorTopK}};
  if (name == "sel_idx") return {DType::kU32, {t.block_rows, kSelectorTopK}};
  if (name == "sel_hproj") return {kB, {t.block_rows, rank}};
  // stream_buf, norm_buf, stream_acc.
  return {kB, {t.rows, g.hidden_size}};
}

bool IsNull(NullRule rule, const DflashScratchRequest& r) {
  switch (rule) {
    case NullRule::kNever:
      return false;
    case NullRule::kNoMarkovRank:
      // By the config, not by the tensors: see the NULL rules.
      return r.geometry.markov_rank == 0;
    case NullRule::kNoConfidenceTensor:
      return !r.tensors.confidence;
    case NullRule::kNoSelectorTensor:
      return !r.tensors.selector;
  }
  return false;
}

Status Measure(const FieldShape& shape, DflashFieldLayout& layout) {
  CheckedU64 bytes = DTypeBits(shape.dtype) / 8;
  for (const CheckedU64 dim : shape.dims) {
    bytes *= dim;
    layout.shape.push_back(dim.ok() ? dim.value() : 0);
  }
  if (!bytes.ok()) {
    return OutOfRangeError(
        fmt::format("{}: the size exceeds 2^64-1 bytes (overflow)", layout.field->name));
  }
  if (bytes.value() == 0) {
    return InvalidArgumentError(
        fmt::format("{}: expected a size above 0 bytes, found 0 for shape {}", layout.field->name,
                    ShapeToString(layout.shape)));
  }
  layout.bytes = bytes.value();
  return OkStatus();
}

std::vector<std::string> Warnings(const DflashScratchRequest& r, const Terms& t) {
  std::vector<std::string> warnings;
  if (t.block_rows.value() > t.slots.value()) {
    warnings.push_back(
        fmt::format("slot_mapping_dev: holds {} entries, but {} bands of {} block rows write {}",
                    t.slots.value(), r.max_batch, *r.gamma, t.block_rows.value()));
  }
  if (r.geometry.markov_rank > 0 && !r.tensors.markov) {
    warnings.push_back(
        "markov_embed, markov_bias: allocated because markov_rank is above 0, but the Markov "
        "tensors are absent, so that the head is inactive");
  }
  if (t.kv_dim.value() % 4 != 0) {
    warnings.push_back(fmt::format(
        "k_buf, v_buf: a row of {} BF16 is no multiple of the cache writer's 8-byte vectors",
        t.kv_dim.value()));
  }
  return warnings;
}

}  // namespace

std::string_view DflashLayoutNameText(DflashLayoutName name) {
  for (const LayoutNameEntry& entry : kLayoutNames) {
    if (entry.name == name) return entry.text;
  }
  return "unknown";
}

StatusOr<DflashLayoutName> ParseDflashLayoutName(std::uint64_t version, std::string_view text) {
  std::string known;
  for (const LayoutNameEntry& entry : kLayoutNames) {
    if (entry.version != version) continue;
    if (entry.text == text) return entry.name;
    known += (known.empty() ? "" : ", ") + std::string(entry.text);
  }
  if (known.empty()) {
    return InvalidArgumentError(fmt::format("version: expected 1 or 2, found {}", version));
  }
  return InvalidArgumentError(
      fmt::format("layout: expected one of {} for version {}, found {}", known, version, text));
}

StatusOr<DflashScratchLayout> DflashScratchLayout::Create(const DflashScratchRequest& request) {
  DflashScratchLayout layout;
  layout.request_ = request;
  DM_RETURN_IF_ERROR(Complete(layout.request_));
  const Terms terms(layout.request_);
  CheckedU64 device;
  for (const DflashField& field : kDflashFields) {
    if (field.name == kV2OnlyField && request.version == 1) continue;
    DflashFieldLayout& entry = layout.fields_.emplace_back();
    entry.field = &field;
    if (field.memory == DflashMemory::kEvent) continue;
    const FieldShape shape = ShapeOf(field.name, layout.request_, terms);
    entry.dtype = shape.dtype;
    entry.alignment = field.wide_access ? 16 : DTypeBits(shape.dtype) / 8;
    entry.is_null = IsNull(field.null_rule, layout.request_);
    if (entry.is_null) continue;
    DM_RETURN_IF_ERROR(Measure(shape, entry));
    if (field.memory == DflashMemory::kDevice) {
      device += entry.bytes;
    } else {
      layout.host_pinned_bytes_ += entry.bytes;  // one field: no sum that could overflow
    }
  }
  if (!device.ok()) {
    return OutOfRangeError(
        "device total: every single size is valid, but their sum exceeds 2^64-1 bytes");
  }
  layout.device_bytes_ = device.value();
  // All of these are factors of sizes that have been measured.
  layout.rows_ = terms.rows.value();
  layout.slot_entries_ = terms.slots.value();
  layout.argument_words_ = terms.argument_words;
  layout.warnings_ = Warnings(layout.request_, terms);
  return layout;
}

std::uint64_t DflashScratchLayout::q_dim() const {
  return request_.geometry.num_attention_heads * request_.geometry.head_dim;
}

std::uint64_t DflashScratchLayout::kv_dim() const {
  return request_.geometry.num_key_value_heads * request_.geometry.head_dim;
}

const DflashFieldLayout& DflashScratchLayout::Field(std::string_view name) const {
  const auto found =
      std::find_if(fields_.begin(), fields_.end(),
                   [&](const DflashFieldLayout& entry) { return entry.field->name == name; });
  DM_CHECK(found != fields_.end());
  return *found;
}

}  // namespace draftmark
