#include "benchmarks/draft_cost.h"

#include <algorithm>
#include <string_view>

#include "src/cases/generated_data.h"
#include "src/scratch/dflash_layout.h"
#include "src/tensor/bfloat16.h"

namespace draftmark {
namespace {

std::uint64_t ElementsOf(const GeneratedTensor& tensor) {
  std::uint64_t elements = 1;
  for (const std::uint64_t extent : tensor.shape) elements *= extent;
  return elements;
}

// How a draft uses one tensor of the checkpoint.
struct Use {
  std::uint64_t whole_reads = 0;  // of the whole tensor
  std::uint64_t rows_read = 0;    // of a table, by index
  std::uint64_t products = 0;     // rows that it is multiplied with
};

Use UseOf(std::string_view name, const DrafterConfig& c, const DraftShape& s) {
  const std::uint64_t block = s.bands * s.gamma;
  const std::uint64_t new_rows = s.bands * s.new_rows;
  const std::uint64_t steps = c.drafts(s.gamma);
  const std::uint64_t drafts = s.bands * steps;
  const bool selector = c.selector_rank > 0;
  const auto ends = [&](std::string_view end) { return name.ends_with(end); };
  if (name == "fc.weight" || name == "hidden_norm.weight") {
    return {.whole_reads = new_rows > 0 ? 1u : 0u, .products = new_rows};
  }
  if (name == "embed_tokens.weight") return {.rows_read = s.bands + 1};
  if (ends("predecessor_codebook")) return {.rows_read = drafts};
  if (ends("successor_codebook")) {
    return {.rows_read = drafts * kSelectorTopK, .products = drafts * kSelectorTopK};
  }
  if (name.starts_with("markov_head.") || name.starts_with("confidence_head.")) {
    if (selector) return {};  // it takes precedence
    if (ends("markov_w1.weight")) return {.rows_read = drafts};
    if (ends("markov_w2.weight")) return {.whole_reads = steps, .products = drafts};
    return {.whole_reads = 1, .products = drafts};
  }
  if (ends("k_proj.weight") || ends("v_proj.weight")) {
    return {.whole_reads = 1, .products = block + new_rows};
  }
  return {.whole_reads = 1, .products = block};
}

template <typename Visit>
void ForEachUse(const DrafterConfig& config, const DraftShape& shape, const Visit& visit) {
  for (const GeneratedTensor& tensor : GeneratedTensors(config, {})) {
    visit(tensor, UseOf(tensor.name, config, shape));
  }
}

// Context and new rows that row j of the block sees in a layer.
std::uint64_t ContextSeen(const DrafterConfig& c, const DraftShape& s, std::uint64_t layer,
                          std::uint64_t j) {
  const std::uint64_t rows = s.context + s.new_rows;
  if (c.layer_types[layer] != LayerType::kSlidingAttention) return rows;
  const std::uint64_t window = c.sliding_window.value_or(0);
  // Keys at a distance below the window; the j rows before it are nearer.
  return window > j + 1 ? std::min(rows, window - 1 - j) : 0;
}

// Block rows that row j sees, itself among them.
std::uint64_t BlockSeen(const DrafterConfig& c, const DraftShape& s, std::uint64_t layer,
                        std::uint64_t j) {
  std::uint64_t before = j;
  std::uint64_t behind = c.layer_causal[layer] ? 0 : s.gamma - 1 - j;
  if (c.layer_types[layer] == LayerType::kSlidingAttention) {
    const std::uint64_t reach = std::max<std::uint64_t>(c.sliding_window.value_or(0), 1) - 1;
    before = std::min(before, reach);
    behind = std::min(behind, reach);
  }
  return before + 1 + behind;
}

}  // namespace

DraftBytes FloorBytes(const DrafterConfig& config, const DraftShape& shape) {
  DraftBytes bytes;
  ForEachUse(config, shape, [&](const GeneratedTensor& tensor, const Use& use) {
    const std::uint64_t elements = ElementsOf(tensor);
    bytes.weights += use.whole_reads * elements * sizeof(BFloat16);
    bytes.rows += use.rows_read * (elements / tensor.shape.front()) * sizeof(BFloat16);
  });
  std::uint64_t keys = 0;
  for (std::uint64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    // Row 0 sees furthest back, and every block row is seen by itself.
    keys += ContextSeen(config, shape, layer, 0) + shape.gamma;
  }
  bytes.keys_values = 2 * shape.bands * keys * config.kv_dim() * sizeof(BFloat16);
  return bytes;
}

std::uint64_t UniqueBytes(const DrafterConfig& config, const DraftShape& shape) {
  std::uint64_t again = 0;
  ForEachUse(config, shape, [&](const GeneratedTensor& tensor, const Use& use) {
    if (use.whole_reads > 1) again += (use.whole_reads - 1) * ElementsOf(tensor) * sizeof(BFloat16);
  });
  return FloorBytes(config, shape).total() - again;
}

std::uint64_t SecondReadBytes(const DrafterConfig& config, const DraftShape& shape) {
  if (shape.new_rows == 0) return 0;
  const std::uint64_t row = config.hidden_size + (config.attention_bias ? 1 : 0);
  return config.num_hidden_layers * 2 * config.kv_dim() * row * sizeof(BFloat16);
}

std::uint64_t ContextBytes(const DrafterConfig& c, std::uint64_t rows) {
  const std::uint64_t h = c.hidden_size;
  const std::uint64_t kv = 2 * c.num_hidden_layers * c.kv_dim();  // columns of K and V together
  const std::uint64_t bias = c.attention_bias ? kv : 0;
  const std::uint64_t weights =
      h * c.tap_width() + h + kv * h + bias + c.num_hidden_layers * c.head_dim;
  return (weights + rows * (c.tap_width() + kv)) * sizeof(BFloat16);
}

double ContextFlops(const DrafterConfig& c, std::uint64_t rows) {
  const std::uint64_t kv = 2 * c.num_hidden_layers * c.kv_dim();
  return 2.0 * static_cast<double>(rows) * static_cast<double>(c.hidden_size) *
         static_cast<double>(c.tap_width() + kv);
}

double DraftFlops(const DrafterConfig& config, const DraftShape& shape) {
  double multiplications = 0;
  ForEachUse(config, shape, [&](const GeneratedTensor& tensor, const Use& use) {
    if (tensor.shape.size() != 2) return;  // norms, biases and convolutions
    // Of a table only the rows that are looked up take part.
    const std::uint64_t elements = use.rows_read > 0 ? tensor.shape.back() : ElementsOf(tensor);
    multiplications += static_cast<double>(use.products) * static_cast<double>(elements);
  });
  for (std::uint64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    for (std::uint64_t j = 0; j < shape.gamma; ++j) {
      const std::uint64_t keys =
          ContextSeen(config, shape, layer, j) + BlockSeen(config, shape, layer, j);
      // Q * K and P * V.
      multiplications += static_cast<double>(2 * shape.bands * keys * config.q_dim());
    }
  }
  return 2 * multiplications;
}

}  // namespace draftmark
