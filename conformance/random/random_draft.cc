#include "conformance/random/random_draft.h"

#include <algorithm>

#include "conformance/random/draws.h"
#include "src/cases/generated_data.h"

namespace draftmark {
namespace {

void AddWidths(Draws& draws, OrderedJson& json) {
  json["hidden_size"] = draws.Pick<std::uint64_t>({8, 16, 24, 31, 40, 48, 61, 64, 72});
  json["num_hidden_layers"] = 1 + draws.Below(3);
  const std::uint64_t kv = 1 + draws.Below(3);
  json["num_key_value_heads"] = kv;
  json["num_attention_heads"] = kv * (1 + draws.Below(5));
  json["head_dim"] = draws.Pick<std::uint64_t>({2, 4, 6, 8, 10, 16, 24, 32});
  // The scratch's K stage lies in mlp_intermediate: it must hold a row of all layers' K.
  const std::uint64_t least =
      json["num_hidden_layers"].get<std::uint64_t>() * kv * json["head_dim"].get<std::uint64_t>();
  json["intermediate_size"] = std::max(least, draws.Pick<std::uint64_t>({1, 7, 16, 33, 80, 127}));
  const std::uint64_t vocabulary = draws.Pick<std::uint64_t>({48, 67, 101, 128, 131, 257, 1031});
  json["vocab_size"] = vocabulary;
  json["mask_token_id"] = draws.OneIn(4) ? draws.Below(vocabulary) : vocabulary - 1;
  json["block_size"] = draws.OneIn(12) ? 33 + draws.Below(8) : 2 + draws.Below(16);
  std::vector<std::uint64_t> taps;
  const std::uint64_t count = 1 + draws.Below(5);
  for (std::uint64_t i = 0; i < count; ++i) {
    taps.push_back((taps.empty() ? 0 : taps.back() + 1) + draws.Below(4));
  }
  json["target_layer_ids"] = taps;
  json["target_hidden_size"] = draws.OneIn(3) ? draws.Pick<std::uint64_t>({5, 20, 43, 64})
                                              : json["hidden_size"].get<std::uint64_t>();
}

void AddAttention(Draws& draws, OrderedJson& json) {
  OrderedJson types = OrderedJson::array();
  bool sliding = false;
  for (std::uint64_t l = 0; l < json["num_hidden_layers"].get<std::uint64_t>(); ++l) {
    const bool slides = draws.OneIn(2);
    sliding = sliding || slides;
    types.push_back(slides ? "sliding_attention" : "full_attention");
  }
  json["layer_types"] = types;
  if (sliding) json["sliding_window"] = draws.Pick<std::uint64_t>({1, 2, 3, 7, 9, 16, 17, 33, 64});
  if (draws.OneIn(2)) json["is_causal"] = draws.OneIn(2);
  json["attention_bias"] = draws.OneIn(3);
  json["rms_norm_eps"] = draws.OneIn(2) ? 1e-6 : 1e-5;
  OrderedJson rope = {{"theta", draws.OneIn(2) ? 1e4 : 1e6}, {"type", "default"}};
  const std::uint64_t d = json["head_dim"];
  if (d % 8 == 0 && draws.OneIn(4)) rope["partial_rotary_factor"] = draws.OneIn(2) ? 0.5 : 0.25;
  if (rope.contains("partial_rotary_factor") && draws.OneIn(2)) {
    json["rope_pairing"] = "half_of_head";
  }
  if (draws.OneIn(4)) {
    rope["type"] = "yarn";
    rope["factor"] = draws.Pick<double>({2, 4, 32});
    rope["original_max_position_embeddings"] = draws.Pick<std::uint64_t>({64, 4096});
    if (draws.OneIn(3)) rope["attention_factor"] = 0.875;
    if (draws.OneIn(3)) rope["truncate"] = false;
  }
  json["rope"] = rope;
}

void AddHeads(Draws& draws, OrderedJson& json) {
  const std::uint64_t family = draws.Below(3);
  json["kind"] = "synthetic";
  const bool anchor_first = family == 1 ? !draws.OneIn(4) : draws.OneIn(3) && family == 0;
  json["row_convention"] = anchor_first ? "B" : "A";
  json["sample_from_anchor"] = anchor_first;
  if (family == 1) {  // DSpark
    json["markov_rank"] = draws.Pick<std::uint64_t>({1, 8, 16, 23});
    json["markov_head_type"] = draws.Pick<std::string>({"vanilla", "gated", "rnn"});
    json["confidence_head"] = true;
    json["confidence_head_with_markov"] = !draws.OneIn(3);
  }
  if (family == 2) {  // DFlash2
    const std::uint64_t h = json["hidden_size"];
    std::vector<std::uint64_t> groups;
    for (const std::uint64_t group : {1, 2, 4, 8, 16}) {
      if (h % group == 0) groups.push_back(group);
    }
    json["conv_group_size"] = draws.Pick(groups);
    json["conv_kernel_size"] = draws.OneIn(4) ? 1 + draws.Below(4) : 2;
    json["selector_rank"] = draws.Pick<std::uint64_t>({1, 7, 16});
    json["selector_top_k"] = 16;
  }
  if (draws.OneIn(4)) json["output_multiplier"] = 0.5;
  if (draws.OneIn(4)) json["final_logit_softcapping"] = draws.OneIn(2) ? 3.0 : 30.0;
  if (draws.OneIn(4)) json["input_embedding_scale"] = 2.5;
  json["generator"] = GeneratorToJson(
      {.seed = draws.Bits() >> 32,
       .sinks = draws.OneIn(4),
       .mask_embedding = draws.OneIn(4),
       // Outlier channels of real targets reach 10^4 and more; FP16 ends at 65504.
       .tap_scale = draws.OneIn(3) ? draws.Pick<double>({0x1p-60, 0x1p-10, 0x1p16, 0x1p40}) : 2});
}

// One sequence at work.
class Sequence {
 public:
  Sequence(Draws& draws, const OrderedJson& json)
      : draws_(draws), gamma_(json["block_size"]), vocabulary_(json["vocab_size"]) {}

  // `width` 0: the whole block.
  OrderedJson Next(bool neighbour, std::uint64_t width) {
    OrderedJson step = OrderedJson::object();
    if (context_ == 0) {
      Join(step);
    } else if (draws_.OneIn(7)) {
      step["reset"] = true;
      context_ = 0;
      next_ = 0;
      Join(step);
    } else {
      GoOn(step);
    }
    step["start"] = next_;
    step["anchor"] = draws_.Below(vocabulary_);
    if (width > 0) step["width"] = width;
    if (neighbour && draws_.OneIn(4)) step["rests"] = true;
    return step;
  }

 private:
  // A tail around the borders of pages (16 rows) and passes (64).
  void Join(OrderedJson& step) {
    const std::uint64_t rows = draws_.OneIn(8)
                                   ? 0
                                   : draws_.Pick<std::uint64_t>({1, 2, 5, 15, 16, 17, 31, 32, 33,
                                                                 48, 63, 64, 65, 100, 129});
    Append(step, rows, draws_.OneIn(3) ? draws_.Pick<std::uint64_t>({1, 16, 29, 3000}) : 0);
  }

  void GoOn(OrderedJson& step) {
    if (draws_.OneIn(4)) {
      const std::uint64_t rows = draws_.OneIn(6) ? context_ : draws_.Below(context_ + 1);
      step["drop_front_rows"] = rows;
      context_ -= rows;
    }
    // The anchor's row and those of the accepted drafts; now and then nothing, or a prompt's next
    // part.
    std::uint64_t rows = 1 + draws_.Below(gamma_);
    if (draws_.OneIn(6)) rows = 0;
    if (draws_.OneIn(10)) rows = 60 + draws_.Below(20);
    Append(step, rows, draws_.OneIn(4) ? 1 + draws_.Below(40) : 0);
  }

  void Append(OrderedJson& step, std::uint64_t rows, std::uint64_t gap) {
    step["new_context_rows"] = rows;
    context_ += rows;
    next_ += rows + gap;
  }

  Draws& draws_;
  const std::uint64_t gamma_, vocabulary_;
  std::uint64_t context_ = 0;
  std::uint64_t next_ = 0;  // position of the next anchor
};

// `widths`: of each step, the same for all sequences.
OrderedJson Steps(Draws& draws, const OrderedJson& json, std::uint64_t count, bool neighbour,
                  const std::vector<std::uint64_t>& widths) {
  Sequence sequence(draws, json);
  OrderedJson steps = OrderedJson::array();
  for (std::uint64_t s = 0; s < count; ++s) steps.push_back(sequence.Next(neighbour, widths[s]));
  return steps;
}

}  // namespace

OrderedJson RandomDraft(std::uint64_t seed) {
  Draws draws(seed);
  OrderedJson json = OrderedJson::object();
  AddWidths(draws, json);
  AddAttention(draws, json);
  AddHeads(draws, json);
  const std::uint64_t count = 1 + draws.Below(6);
  std::vector<std::uint64_t> widths(count + 1, 0);
  if (draws.OneIn(3)) {
    const std::uint64_t block = json["block_size"];
    for (std::uint64_t& width : widths) width = draws.OneIn(2) ? 0 : 2 + draws.Below(block - 1);
  }
  json["steps"] = Steps(draws, json, count, /*neighbour=*/false, widths);
  if (draws.OneIn(2)) {
    const std::uint64_t neighbours = draws.OneIn(8) ? 15 : 1 + draws.Below(3);
    OrderedJson list = OrderedJson::array();
    for (std::uint64_t n = 0; n < neighbours; ++n) {
      list.push_back(Steps(draws, json, 1 + draws.Below(count + 1), /*neighbour=*/true, widths));
    }
    json["neighbours"] = std::move(list);
    json["band"] = draws.Below(neighbours + 1);
  }
  if (draws.OneIn(3)) json["replay"] = true;
  json["end_to_end"] = false;
  return json;
}

}  // namespace draftmark
