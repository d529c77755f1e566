#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "conformance/random/random_draft.h"

namespace draftmark {
namespace {

// Collects changed copies that differ from the original.
class Offers {
 public:
  explicit Offers(const OrderedJson& config) : config_(config) {}
  void Add(const std::function<void(OrderedJson&)>& change) {
    OrderedJson changed = config_;
    change(changed);
    if (changed != config_) offers_.push_back(std::move(changed));
  }
  std::vector<OrderedJson> Take() { return std::move(offers_); }

 private:
  const OrderedJson& config_;
  std::vector<OrderedJson> offers_;
};

std::uint64_t U64(const OrderedJson& json, const char* key) {
  return json.value(key, std::uint64_t{0});
}

// The same step of every sequence; a neighbour may have fewer.
void EraseStep(OrderedJson& json, std::size_t index) {
  json["steps"].erase(index);
  if (!json.contains("neighbours")) return;
  for (OrderedJson& steps : json["neighbours"]) {
    if (index < steps.size()) steps.erase(index);
  }
}

void ForEachStep(OrderedJson& json, const std::function<void(OrderedJson&)>& change) {
  for (OrderedJson& step : json["steps"]) change(step);
  if (!json.contains("neighbours")) return;
  for (OrderedJson& steps : json["neighbours"]) {
    for (OrderedJson& step : steps) change(step);
  }
}

void EraseNeighbour(OrderedJson& json, std::size_t index) {
  json["neighbours"].erase(index);
  if (index < U64(json, "band")) json["band"] = U64(json, "band") - 1;
}

void OfferFewerSequences(const OrderedJson& config, Offers& offers) {
  offers.Add([](OrderedJson& json) {
    json.erase("neighbours");
    json.erase("band");
  });
  if (config.contains("neighbours")) {
    for (std::size_t n = 0; n < config["neighbours"].size(); ++n) {
      offers.Add([n](OrderedJson& json) { EraseNeighbour(json, n); });
    }
    if (U64(config, "band") > 0) {
      offers.Add([](OrderedJson& json) { json["band"] = U64(json, "band") - 1; });
    }
  }
  offers.Add([](OrderedJson& json) { json.erase("replay"); });
  // All propose at the same width.
  offers.Add(
      [](OrderedJson& json) { ForEachStep(json, [](OrderedJson& step) { step.erase("width"); }); });
}

void OfferFewerSteps(const OrderedJson& config, Offers& offers) {
  const std::size_t steps = config["steps"].size();
  if (steps > 2) {
    offers.Add([steps](OrderedJson& json) {
      for (std::size_t s = steps; s > steps / 2; --s) EraseStep(json, s - 1);
    });
  }
  if (steps < 2) return;
  for (std::size_t s = steps; s > 0; --s) {
    offers.Add([s](OrderedJson& json) { EraseStep(json, s - 1); });
  }
}

// Positions follow from rows: gaps stay, but for the one in front of the changed step.
void SetRows(OrderedJson& steps, std::size_t index, std::uint64_t rows) {
  const std::uint64_t before = U64(steps[index], "new_context_rows");
  steps[index]["new_context_rows"] = rows;
  for (std::size_t s = index; s < steps.size(); ++s) {
    if (s > index && steps[s].value("reset", false)) break;
    steps[s]["start"] = U64(steps[s], "start") + rows - before;
  }
}

void CloseGap(OrderedJson& steps, std::size_t index) {
  std::uint64_t last = index == 0 ? 0 : U64(steps[index - 1], "start");
  if (steps[index].value("reset", false)) last = 0;
  const std::uint64_t least = last + U64(steps[index], "new_context_rows");
  const std::uint64_t now = U64(steps[index], "start");
  if (now <= least) return;
  for (std::size_t s = index; s < steps.size(); ++s) {
    if (s > index && steps[s].value("reset", false)) break;
    steps[s]["start"] = U64(steps[s], "start") - (now - least);
  }
}

// `steps_of` finds the steps of one sequence in a copy.
void OfferSimplerSteps(const OrderedJson& steps,
                       const std::function<OrderedJson&(OrderedJson&)>& steps_of, Offers& offers) {
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const auto step_of = [&steps_of, s](OrderedJson& json) -> OrderedJson& {
      return steps_of(json)[s];
    };
    offers.Add([&](OrderedJson& json) { step_of(json).erase("reset"); });
    offers.Add([&](OrderedJson& json) { step_of(json).erase("drop_front_rows"); });
    offers.Add([&](OrderedJson& json) { step_of(json).erase("rests"); });
    offers.Add([&](OrderedJson& json) { CloseGap(steps_of(json), s); });
    const std::uint64_t rows = U64(steps[s], "new_context_rows");
    for (const std::uint64_t fewer :
         {std::uint64_t{0}, rows / 2, rows - std::min<std::uint64_t>(rows, 1)}) {
      offers.Add([&](OrderedJson& json) { SetRows(steps_of(json), s, fewer); });
    }
    const std::uint64_t drop = U64(steps[s], "drop_front_rows");
    if (drop > 1) {
      for (const std::uint64_t fewer : {drop / 2, drop - 1}) {
        offers.Add([&](OrderedJson& json) { step_of(json)["drop_front_rows"] = fewer; });
      }
    }
    offers.Add([&](OrderedJson& json) { step_of(json)["anchor"] = 0; });
  }
}

void OfferPlainerFeatures(const OrderedJson& config, Offers& offers) {
  for (const char* const key :
       {"output_multiplier", "final_logit_softcapping", "input_embedding_scale", "rope_pairing",
        "is_causal", "markov_head_type"}) {
    offers.Add([key](OrderedJson& json) { json.erase(key); });
  }
  offers.Add([](OrderedJson& json) { json["attention_bias"] = false; });
  offers.Add([](OrderedJson& json) { json["rope"] = {{"theta", 1e4}, {"type", "default"}}; });
  offers.Add([](OrderedJson& json) { json["rope"].erase("partial_rotary_factor"); });
  for (const char* const key : {"sinks", "mask_embedding"}) {
    offers.Add([key](OrderedJson& json) { json["generator"][key] = false; });
  }
  offers.Add([](OrderedJson& json) { json["generator"].erase("tap_scale"); });
  offers.Add([](OrderedJson& json) {
    for (const char* const key :
         {"conv_group_size", "conv_kernel_size", "selector_rank", "selector_top_k", "markov_rank",
          "markov_head_type", "confidence_head", "confidence_head_with_markov"}) {
      json.erase(key);
    }
  });
  offers.Add([](OrderedJson& json) {
    for (OrderedJson& type : json["layer_types"]) type = "full_attention";
    json.erase("sliding_window");
  });
  if (config.value("confidence_head_with_markov", false)) {
    offers.Add([](OrderedJson& json) { json["confidence_head_with_markov"] = false; });
  }
}

void OfferSmallerWidths(const OrderedJson& config, Offers& offers) {
  const std::uint64_t layers = U64(config, "num_hidden_layers");
  for (std::size_t l = 0; layers > 1 && l < layers; ++l) {
    offers.Add([l, layers](OrderedJson& json) {
      json["layer_types"].erase(l);
      json["num_hidden_layers"] = layers - 1;
      const OrderedJson& types = json["layer_types"];
      if (std::find(types.begin(), types.end(), "sliding_attention") == types.end()) {
        json.erase("sliding_window");
      }
    });
  }
  const std::uint64_t kv = U64(config, "num_key_value_heads");
  const std::uint64_t ratio = U64(config, "num_attention_heads") / kv;
  for (const auto& [fewer_kv, less_ratio] :
       {std::pair{std::uint64_t{1}, std::uint64_t{1}}, std::pair{std::uint64_t{1}, ratio},
        std::pair{kv, std::uint64_t{1}}, std::pair{kv, std::max<std::uint64_t>(1, ratio - 1)}}) {
    // With initialisers, as clang 14 captures no structured binding.
    offers.Add([heads_kv = fewer_kv, heads = fewer_kv * less_ratio](OrderedJson& json) {
      json["num_key_value_heads"] = heads_kv;
      json["num_attention_heads"] = heads;
    });
  }
  if (config["target_layer_ids"].size() > 1) {
    offers.Add([](OrderedJson& json) { json["target_layer_ids"] = {0}; });
  }
  const std::uint64_t gamma = U64(config, "block_size");
  for (const std::uint64_t less : {std::uint64_t{2}, gamma / 2, gamma - 1}) {
    if (less < 2) continue;
    offers.Add([less](OrderedJson& json) {
      json["block_size"] = less;
      ForEachStep(json, [less](OrderedJson& step) {
        if (U64(step, "width") > less) step["width"] = less;
      });
    });
  }
  struct Least {
    const char* key;
    std::uint64_t value;
  };
  for (const Least& least :
       {Least{"hidden_size", 8}, Least{"target_hidden_size", 5}, Least{"intermediate_size", 1},
        Least{"head_dim", 2}, Least{"head_dim", 8}, Least{"vocab_size", 48},
        Least{"conv_group_size", 1}, Least{"conv_kernel_size", 1}, Least{"selector_rank", 1},
        Least{"markov_rank", 1}, Least{"sliding_window", 1}}) {
    if (U64(config, least.key) <= least.value) continue;
    offers.Add([&](OrderedJson& json) {
      json[least.key] = least.value;
      json["mask_token_id"] = std::min(U64(json, "mask_token_id"), U64(json, "vocab_size") - 1);
      const std::uint64_t last = U64(json, "vocab_size") - 1;
      ForEachStep(json, [last](OrderedJson& step) {
        step["anchor"] = std::min(U64(step, "anchor"), last);
      });
    });
  }
}

}  // namespace

std::vector<OrderedJson> SimplerDrafts(const OrderedJson& config) {
  Offers offers(config);
  OfferFewerSequences(config, offers);
  OfferFewerSteps(config, offers);
  OfferPlainerFeatures(config, offers);
  OfferSmallerWidths(config, offers);
  OfferSimplerSteps(
      config["steps"], [](OrderedJson& json) -> OrderedJson& { return json["steps"]; }, offers);
  if (config.contains("neighbours")) {
    for (std::size_t n = 0; n < config["neighbours"].size(); ++n) {
      OfferSimplerSteps(
          config["neighbours"][n],
          [n](OrderedJson& json) -> OrderedJson& { return json["neighbours"][n]; }, offers);
    }
  }
  return offers.Take();
}

}  // namespace draftmark
