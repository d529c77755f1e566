#include "conformance/golden/draft_specs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "src/base/counter_hash.h"
#include "src/cases/generated_data.h"

namespace draftmark {
namespace {

constexpr std::string_view kLocal = R"({"end_to_end": false})";
constexpr std::string_view kWindowed =
    R"({"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 9,
        "end_to_end": false})";

// Windows of 2048 and 4096 need contexts beyond them; the others stay short.
constexpr DraftSpec kSpecs[] = {
    {.name = "qwen3-4b-dflash", .entry = "z-lab/Qwen3-4B-DFlash-b16"},
    {.name = "qwen3-coder-30b-a3b-dflash", .entry = "z-lab/Qwen3-Coder-30B-A3B-DFlash"},
    {.name = "qwen3.5-4b-dflash", .entry = "z-lab/Qwen3.5-4B-DFlash", .context = 4133},
    {.name = "qwen3.6-27b-dflash", .entry = "z-lab/Qwen3.6-27B-DFlash", .context = 2081},
    {.name = "gpt-oss-20b-dflash", .entry = "z-lab/gpt-oss-20b-DFlash"},
    {.name = "kimi-k2.5-dflash", .entry = "z-lab/Kimi-K2.5-DFlash"},
    {.name = "gemma-4-31b-dflash", .entry = "z-lab/gemma-4-31B-it-DFlash", .context = 2081},
    {.name = "qwen2.5-0.5b-dflash", .entry = "recipe/qwen2.5-0.5b-dflash"},
    {.name = "lfm2.5-1.2b-dflash", .entry = "recipe/lfm2.5-1.2b-dflash"},
    {.name = "longcat-flash-dflash", .entry = "recipe/longcat-flash-dflash"},
    {.name = "dflash-qwen3-4b-block7",
     .entry = "deepseek-ai/dflash_qwen3_4b_block7",
     .vocabulary = 67},
    {.name = "dspark-qwen3-14b-block7",
     .entry = "deepseek-ai/dspark_qwen3_14b_block7",
     .vocabulary = 67},
    {.name = "dflash-qwen3-14b-block7", .entry = "deepseek-ai/dflash_qwen3_14b_block7"},
    {.name = "qwen3.8-27b-dflash2", .entry = "z-lab/Qwen3.8-27B-DFlash2 (incoai)", .context = 2081},
    {.name = "glm-5.3-flash-dflash2", .entry = "incoai/GLM-5.3-Flash-DFlash2", .context = 2081},
    {.name = "qwen3.8-27b-dspark", .entry = "RadixArk/Qwen3.8-27B-DSpark"},
    {.name = "dspark-qwen3-4b-block7", .entry = "deepseek-ai/dspark_qwen3_4b_block7"},
    {.name = "kimi-k3-dspark", .entry = "recipe/kimi-k3-dspark"},
    {.name = "glm-5.2-dspark", .entry = "recipe/glm-5.2-dspark"},
    {.name = "inkling-dspark", .entry = "recipe/inkling-dspark"},
    {.name = "qwen3.6-27b-dspark", .entry = "recipe/qwen3.6-27b-dspark"},
    // Rules that no supported published drafter has: partial rotary in both pairings, sinks, a mask
    // embedding of its own, gated and recurrent Markov heads, an amplitude from the config.
    {.name = "synthetic-partial-rotary",
     .entry = "synthetic/tiny-dflash",
     .head_dim = 16,
     .change = R"({"rope": {"partial_rotary_factor": 0.5}})",
     .sinks = true},
    {.name = "synthetic-half-of-head",
     .entry = "synthetic/tiny-dflash2",
     .head_dim = 16,
     .change = R"({"rope": {"partial_rotary_factor": 0.25}, "rope_pairing": "half_of_head"})",
     .mask_embedding = true},
    {.name = "synthetic-gated-markov",
     .entry = "synthetic/tiny-dspark",
     .change = R"({"markov_head_type": "gated"})"},
    {.name = "synthetic-rnn-markov",
     .entry = "synthetic/tiny-dspark",
     .change = R"({"markov_head_type": "rnn", "rope": {"type": "yarn", "factor": 4,
                   "original_max_position_embeddings": 64, "attention_factor": 0.875}})"},
    // Histories in which implementations failed in public (conformance/README.md), and which the others
    // do not have. Small drafters: judged by their own stages.
    {.name = "failures-sixteen-sequences",
     .entry = "synthetic/tiny-dflash",
     .hidden = 16,
     .intermediate = 32,
     .vocabulary = 67,
     .change = kWindowed,
     .neighbours = 15},
    {.name = "failures-conv-sequences",
     .entry = "synthetic/tiny-dflash2",
     .hidden = 32,
     .intermediate = 48,
     .vocabulary = 47,
     .change = kLocal,
     .neighbours = 2},
    {.name = "failures-markov-sequences",
     .entry = "synthetic/tiny-dspark",
     .hidden = 16,
     .intermediate = 32,
     .vocabulary = 67,
     .change = kLocal,
     .neighbours = 2},
    {.name = "failures-reset",
     .entry = "synthetic/tiny-dflash",
     .hidden = 16,
     .intermediate = 32,
     .vocabulary = 67,
     .change = kWindowed,
     .history = R"({"replay": true, "steps": [
         {"new_context_rows": 14, "start": 14, "anchor": 7},
         {"reset": true, "new_context_rows": 5, "start": 300, "anchor": 8},
         {"reset": true, "new_context_rows": 12, "start": 12, "anchor": 9}]})"},
    {.name = "failures-replay",
     .entry = "synthetic/tiny-dflash",
     .hidden = 16,
     .intermediate = 32,
     .vocabulary = 67,
     .change = kWindowed,
     .history = R"({"replay": true, "steps": [
         {"new_context_rows": 14, "start": 14, "anchor": 7},
         {"new_context_rows": 3, "start": 17, "anchor": 8, "width": 3},
         {"new_context_rows": 2, "start": 19, "anchor": 9, "drop_front_rows": 6},
         {"new_context_rows": 4, "start": 23, "anchor": 10}]})"},
    {.name = "failures-long-append",
     .entry = "synthetic/tiny-dflash",
     .hidden = 16,
     .intermediate = 32,
     .vocabulary = 67,
     .context = 8200,
     .change =
         R"({"num_hidden_layers": 1, "layer_types": ["full_attention"], "end_to_end": false})"},
    {.name = "failures-large-taps",
     .entry = "synthetic/tiny-dflash",
     .hidden = 16,
     .intermediate = 32,
     .vocabulary = 67,
     .change = kWindowed,
     .history = R"({"generator": {"tap_scale": 131072}})"},
};

// Records of the catalogue about the full-size checkpoint, which do not hold for a reduced one.
constexpr std::string_view kRecords[] = {"name",
                                         "note",
                                         "source",
                                         "verified",
                                         "unverified_fields",
                                         "published_size",
                                         "weights_params_computed",
                                         "weights_bytes_bf16_computed"};

StatusOr<OrderedJson> FindEntry(const DraftSpec& spec, const Json& catalogue,
                                const std::string& source) {
  const auto configs = catalogue.find("configs");
  if (configs != catalogue.end() && configs->is_array()) {
    for (const Json& entry : *configs) {
      if (entry.is_object() && entry.value("name", "") == spec.entry) return OrderedJson(entry);
    }
  }
  return NotFoundError(fmt::format("{}: no entry named \"{}\"", source, spec.entry));
}

void ReduceWidths(const DraftSpec& spec, OrderedJson& json) {
  json["hidden_size"] = spec.hidden;
  json["target_hidden_size"] = spec.hidden;
  json["intermediate_size"] = spec.intermediate;
  json["vocab_size"] = spec.vocabulary;
  json["mask_token_id"] = spec.vocabulary - 1;
  json["head_dim"] = spec.head_dim;
  // A rank as small as the rest; 0 stays 0.
  constexpr std::uint64_t kRank = 16;
  for (const char* const rank : {"markov_rank", "selector_rank"}) {
    if (json.value(rank, std::uint64_t{0}) > kRank) json[rank] = kRank;
  }
}

// Sequences of other lengths, at other positions, that go on by other numbers of rows.
void AddNeighbours(const DraftSpec& spec, OrderedJson& config) {
  OrderedJson neighbours = OrderedJson::array();
  for (std::uint64_t n = 0; n < spec.neighbours; ++n) {
    OrderedJson steps = OrderedJson::array();
    std::uint64_t start = 5 * n;
    for (std::uint64_t s = 0; s < config["steps"].size(); ++s) {
      const std::uint64_t rows = s == 0 ? 3 + 2 * n : 1 + n % 4;
      start += rows;
      steps.push_back({{"new_context_rows", rows},
                       {"start", start},
                       {"anchor", (11 * n + s) % (spec.vocabulary - 1)}});
    }
    neighbours.push_back(std::move(steps));
  }
  config["neighbours"] = std::move(neighbours);
  config["band"] = spec.neighbours;
}

}  // namespace

std::span<const DraftSpec> DraftSpecs() { return kSpecs; }

void AddGeneratedSteps(OrderedJson& config, std::string_view name, std::uint64_t context,
                       std::uint64_t vocabulary, const DataGenerator& generator) {
  constexpr std::uint64_t kAhead = 29;
  constexpr std::uint64_t kAccepted = 5;
  OrderedJson steps = OrderedJson::array();
  std::uint64_t start = context + kAhead;
  for (const std::uint64_t rows : {context, kAccepted}) {
    if (!steps.empty()) start += kAccepted;
    const std::uint64_t anchor = BitsAt(SeedOf(name), steps.size()) % (vocabulary - 1);
    OrderedJson step = {{"new_context_rows", rows}, {"start", start}, {"anchor", anchor}};
    // Page and window borders, the ends, and a row of the middle.
    std::vector<std::uint64_t> kept;
    for (const std::uint64_t row :
         {std::uint64_t{0}, std::uint64_t{15}, std::uint64_t{16}, rows / 2, rows - 2, rows - 1}) {
      if (row < rows) kept.push_back(row);
    }
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    step["kept_context_rows"] = kept;
    steps.push_back(std::move(step));
  }
  config["generator"] = GeneratorToJson(generator);
  config["steps"] = std::move(steps);
}

StatusOr<OrderedJson> DraftConfigJson(const DraftSpec& spec, const Json& catalogue,
                                      const std::string& source) {
  DM_ASSIGN_OR_RETURN(OrderedJson json, FindEntry(spec, catalogue, source));
  for (const std::string_view record : kRecords) json.erase(std::string(record));
  ReduceWidths(spec, json);
  DM_ASSIGN_OR_RETURN(const Json change, ParseJson(spec.change, std::string(spec.name)));
  json.merge_patch(OrderedJson(change));
  json["catalogue_entry"] = spec.entry;
  AddGeneratedSteps(json, spec.name, spec.context, spec.vocabulary,
                    {.seed = SeedOf(spec.name) >> 32,
                     .sinks = spec.sinks,
                     .mask_embedding = spec.mask_embedding});
  if (spec.neighbours > 0) AddNeighbours(spec, json);
  DM_ASSIGN_OR_RETURN(const Json history, ParseJson(spec.history, std::string(spec.name)));
  json.merge_patch(OrderedJson(history));
  return json;
}

}  // namespace draftmark
