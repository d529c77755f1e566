#include "benchmarks/operation_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "benchmarks/draft_case.h"
#include "src/config/drafter_entry.h"
#include "src/operations/registry.h"

namespace draftmark {
namespace {

constexpr std::string_view kCompactDrafters[] = {"qwen3-8b-dflash-b16", "qwen3.8-27b-dflash2"};
constexpr std::string_view kCompactRest = "qwen3.8-27b-dspark";

constexpr std::uint64_t kCacheBlock = 16;  // rows of a block of the paged cache
// Rows that taps are gathered from: those of one accumulator. Times do not depend on more.
constexpr std::uint64_t kGatherRows = 256;
constexpr std::uint64_t kWidestWindow = std::uint64_t{1} << 24;  // kContextInReach

// Collects the launches of one draft.
class Launches {
 public:
  explicit Launches(const DrafterConfig& config)
      : c_(config), block_(config.block_size), fresh_(std::min(kShapeNewRows, config.block_size)) {}

  StatusOr<std::vector<OperationCase>> All() {
    Context();
    Block();
    Tail();
    DM_RETURN_IF_ERROR(status_);
    return std::move(cases_);
  }

 private:
  void Add(std::string_view operation, const ShapeValues& values) {
    if (!status_.ok()) return;
    StatusOr<OperationCase> made = MakeCase(*FindOperation(operation), values);
    if (made.ok()) {
      cases_.push_back(*std::move(made));
    } else {
      status_ = made.status();
    }
  }

  void Linear(std::uint64_t rows, std::uint64_t n, std::uint64_t k, bool bias = false,
              bool cap = false) {
    Add("linear", {rows, n, k, bias ? 1u : 0u, cap ? 1u : 0u});
  }

  void Rope(std::uint64_t rows, std::uint64_t heads) {
    const auto rotary = static_cast<std::uint64_t>(static_cast<double>(c_.head_dim) *
                                                   c_.rope.partial_rotary_factor);
    const bool half_head = c_.rope.pairing == RopePairing::kHalfOfHead;
    Add("rope", {rows, heads, c_.head_dim, rotary, half_head ? 1u : 0u});
  }

  void WriteCache(std::uint64_t rows) {
    const std::uint64_t slots = kShapeContext + fresh_ + block_;
    const std::uint64_t blocks = (slots + kCacheBlock - 1) / kCacheBlock;
    Add("kv_write", {rows, c_.num_key_value_heads, c_.head_dim, blocks});
  }

  // fc, hidden_norm and K and V of all layers, for the new rows.
  void Context() {
    const std::uint64_t h = c_.hidden_size;
    const std::uint64_t kv = c_.num_key_value_heads;
    const std::uint64_t layers = c_.num_hidden_layers;
    Add("row_gather", {fresh_, kGatherRows, c_.tap_width()});
    Linear(fresh_, h, c_.tap_width());
    Add("rms_norm", {fresh_, h});
    Linear(fresh_, 2 * layers * c_.kv_dim(), h, c_.attention_bias);
    Add("kv_split", {fresh_, layers, c_.kv_dim()});
    Add("head_norm", {fresh_, kv, c_.head_dim});
    Rope(layers * fresh_, kv);
    WriteCache(fresh_);
  }

  void Convolve() {
    if (c_.conv_kernel_size == 0) return;
    const std::uint64_t h = c_.hidden_size;
    const std::uint64_t taps = c_.conv_kernel_size;
    Linear(block_, 2 * taps * (h / c_.conv_group_size), h);
    Add("conv_prepare", {block_, h, taps, c_.conv_group_size, block_});
    Add("conv_finish", {block_, h, taps, c_.conv_group_size, block_});
  }

  void Block() {
    const std::uint64_t h = c_.hidden_size;
    const std::uint64_t wide = c_.intermediate_size;
    const bool bias = c_.attention_bias;
    Add("slot_fill", {block_, block_, kShapeContext + fresh_});
    Add("embed", {block_, c_.vocab_size, h, 0});
    Add("rms_norm", {block_, h});
    Convolve();
    Linear(block_, c_.q_dim(), h, bias);
    Linear(block_, c_.kv_dim(), h, bias);
    for (const std::uint64_t heads : {c_.num_attention_heads, c_.num_key_value_heads}) {
      Add("head_norm", {block_, heads, c_.head_dim});
      Rope(block_, heads);
    }
    WriteCache(block_);
    for (std::uint64_t layer = 0; layer < c_.num_hidden_layers; ++layer) {
      const bool sliding = c_.layer_types[layer] == LayerType::kSlidingAttention;
      const std::uint64_t window = sliding ? c_.sliding_window.value_or(0) : 0;
      Add("paged_attention", {block_, c_.num_attention_heads, c_.num_key_value_heads, c_.head_dim,
                              kShapeContext + fresh_, window > kWidestWindow ? 0 : window,
                              c_.layer_causal[layer] ? 1u : 0u, 0});
    }
    Linear(block_, h, c_.q_dim(), bias);
    Add("residual_add", {block_, h});
    Linear(block_, wide, h);
    Add("silu_mul", {block_, wide});
    Linear(block_, h, wide);
  }

  void Tail() {
    const std::uint64_t h = c_.hidden_size;
    const std::uint64_t v = c_.vocab_size;
    const bool cap = c_.output_multiplier != 1 || c_.final_logit_softcapping.value_or(0) != 0;
    Linear(block_, v, h, /*bias=*/false, cap);
    if (c_.selector_rank > 0) {  // it takes precedence
      Linear(block_, c_.selector_rank, h);
      Add("top16", {block_, v});
      Add("selector_walk", {block_, block_, v, c_.selector_rank});
      return;
    }
    // With Markov's head every step is a launch of one row for each sequence.
    const std::uint64_t rows = c_.markov_rank > 0 ? 1 : block_;
    if (c_.markov_rank > 0) {
      const std::string type = c_.markov_head_type.value_or("vanilla");
      Add("markov_step", {rows, v, c_.markov_rank, h,
                          type == "gated" ? 1u
                          : type == "rnn" ? 2u
                                          : 0u});
    }
    if (c_.confidence_head) {
      Add("confidence", {rows, h, c_.confidence_head_with_markov ? c_.markov_rank : 0});
    }
    Add("argmax", {rows, v});
  }

  const DrafterConfig& c_;
  const std::uint64_t block_;
  const std::uint64_t fresh_;
  std::vector<OperationCase> cases_;
  Status status_;
};

class Collector {
 public:
  // `rest`: none of an operation that is there already, but for linear layers.
  Status Add(const NamedDrafter& drafter, bool rest) {
    StatusOr<std::vector<OperationCase>> cases = Launches(drafter.config).All();
    if (!cases.ok()) return cases.status().Annotated(drafter.id);
    const std::size_t before = shapes_.size();
    for (OperationCase& c : *cases) {
      const auto old = shapes_.begin() + static_cast<std::ptrdiff_t>(before);
      const bool known = std::any_of(shapes_.begin(), old, [&](const OperationShape& shape) {
        return shape.c.operation == c.operation;
      });
      if (!rest || !known || c.operation->name == "linear") AddCase(std::move(c), drafter.id);
    }
    return OkStatus();
  }

  std::vector<OperationShape> InRegistryOrder() {
    std::stable_sort(shapes_.begin(), shapes_.end(),
                     [](const OperationShape& a, const OperationShape& b) {
                       return a.c.operation < b.c.operation;  // elements of one array
                     });
    return std::move(shapes_);
  }

 private:
  void AddCase(OperationCase c, const std::string& drafter) {
    const std::string id = c.Id();
    const auto found = std::find_if(shapes_.begin(), shapes_.end(),
                                    [&](const OperationShape& s) { return s.c.Id() == id; });
    if (found == shapes_.end()) {
      shapes_.push_back({.c = std::move(c), .used_by = {drafter}});
    } else if (found->used_by.back() != drafter) {
      found->used_by.push_back(drafter);
    }
  }

  std::vector<OperationShape> shapes_;
};

}  // namespace

StatusOr<std::vector<NamedDrafter>> VerifiedDrafters(const Json& catalogue,
                                                     const std::string& source) {
  std::vector<NamedDrafter> drafters;
  for (const std::string& name : DrafterEntryNames(catalogue)) {
    StatusOr<DrafterEntry> entry = FindRunnableEntry(catalogue, source, name);
    if (!entry.ok()) {
      const StatusCode code = entry.status().code();
      if (code == StatusCode::kFailedPrecondition || code == StatusCode::kUnimplemented) continue;
      return entry.status();
    }
    const auto kind = entry->json->find("kind");
    if (kind != entry->json->end() && *kind == "synthetic") continue;
    drafters.push_back({.id = EntryId(name), .config = std::move(entry->config)});
  }
  return drafters;
}

std::string OperationShape::Label() const {
  if (used_by.size() == 1) return used_by.front();
  return fmt::format("{} and {} more", used_by.front(), used_by.size() - 1);
}

StatusOr<std::vector<OperationShape>> OperationShapes(const std::vector<NamedDrafter>& drafters,
                                                      Suite suite) {
  Collector collector;
  if (suite == Suite::kAll) {
    for (const NamedDrafter& drafter : drafters) {
      DM_RETURN_IF_ERROR(collector.Add(drafter, /*rest=*/false));
    }
    return collector.InRegistryOrder();
  }
  const auto add = [&](std::string_view id, bool rest) -> Status {
    const auto found = std::find_if(drafters.begin(), drafters.end(),
                                    [&](const NamedDrafter& drafter) { return drafter.id == id; });
    if (found == drafters.end()) return NotFoundError(fmt::format("no drafter {}", id));
    return collector.Add(*found, rest);
  };
  for (const std::string_view id : kCompactDrafters) {
    DM_RETURN_IF_ERROR(add(id, /*rest=*/false));
  }
  DM_RETURN_IF_ERROR(add(kCompactRest, /*rest=*/true));
  return collector.InRegistryOrder();
}

}  // namespace draftmark
