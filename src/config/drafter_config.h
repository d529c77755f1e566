// DrafterConfig: the geometry of one drafter checkpoint, as its config file states it.
//
//   DM_ASSIGN_OR_RETURN(const DrafterConfig config, LoadDrafterConfig("config.json"));
//
// A config that was returned is consistent: every width is above 0, n_q is a multiple of n_kv, the
// rotary width is even, taps lie inside the target when its depth is known, and no product of
// spec/drafter.md overflows. Widths are in elements, ids in tokens or layers.
//
// Reads Hugging Face drafter configs (flat, with a `dflash_config` object, and the `speculators`
// layout), one entry of spec/drafter_configs.json, and the config.json of an oracle case (keys
// `kind` and `steps`; the defaults of cases/README.md). Rules: spec/model_config.md section 7 and
// spec/drafter.md sections 1, 2 and 4.3 to 4.4. A plain value type; the functions are pure but for
// Load, and thread-safe.
//
// Errors name file, key, expected and found:
//   NOT_FOUND         a key is absent
//   INVALID_ARGUMENT  wrong type, range or contradiction
//   UNIMPLEMENTED     a drafter that spec/drafter.md does not describe
//   OUT_OF_RANGE      a product does not fit 64 bits
//   DATA_LOSS         not JSON, or JSON that is no object
#ifndef DRAFTMARK_SRC_CONFIG_DRAFTER_CONFIG_H_
#define DRAFTMARK_SRC_CONFIG_DRAFTER_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/json.h"
#include "src/base/status.h"

namespace draftmark {

enum class DrafterKind { kDflash, kDflash2, kDspark };
std::string_view DrafterKindName(DrafterKind kind);  // "dflash", "dflash2", "dspark"

// Which row of the block predicts which position (spec/drafter.md section 2).
enum class RowConvention {
  kInPlace,      // "A": row j predicts p0 + j; drafts are rows 1..gamma-1
  kAnchorFirst,  // "B": row j predicts p0 + j + 1; drafts are rows 0..gamma-1
};

enum class LayerType { kFullAttention, kSlidingAttention };

// Pairs of partial rotary embedding: (i, i + rotary_dim/2) or (i, i + head_dim/2).
enum class RopePairing { kHalfOfRotary, kHalfOfHead };

struct RopeConfig {
  double theta = 0;
  std::string type = "default";      // "default", "yarn" or "proportional" (see pairing)
  double partial_rotary_factor = 1;  // rotary_dim = head_dim * this
  RopePairing pairing = RopePairing::kHalfOfRotary;
  // YaRN only (spec/drafter.md section 4.3).
  double factor = 1;
  double original_max_position_embeddings = 0;
  double beta_fast = 32;
  double beta_slow = 1;
  bool truncate = true;  // false: the ramp's ends are not rounded to whole pairs (gpt-oss)
  std::optional<double> mscale;
  std::optional<double> mscale_all_dim;
  std::optional<double> attention_factor;  // multiplies cos and sin; wins over the rule
};

struct DrafterConfig {
  DrafterKind kind = DrafterKind::kDflash;
  std::uint64_t hidden_size = 0;          // h
  std::uint64_t num_hidden_layers = 0;    // L
  std::uint64_t num_attention_heads = 0;  // n_q
  std::uint64_t num_key_value_heads = 0;  // n_kv
  std::uint64_t head_dim = 0;             // d
  std::uint64_t intermediate_size = 0;    // I
  std::uint64_t vocab_size = 0;           // V
  // Speculators only: rows of the drafter's own LM head. A value other than V means a reduced
  // vocabulary, which drafter.md does not describe; its weights have other shapes.
  std::optional<std::uint64_t> draft_vocab_size;
  std::uint64_t block_size = 0;  // gamma as trained
  RowConvention row_convention = RowConvention::kInPlace;
  bool sample_from_anchor = false;  // resolved: true exactly with kAnchorFirst
  // Outputs of these 0-based layers of the target; -1 is its embedding.
  std::vector<std::int64_t> target_layer_ids;
  // Speculators files: one more than the above.
  std::vector<std::int64_t> target_layer_ids_as_written;
  std::optional<std::uint64_t> num_target_layers;
  std::uint64_t target_hidden_size = 0;  // h_t
  std::optional<std::uint64_t> mask_token_id;
  RopeConfig rope;
  double rms_norm_eps = 0;
  bool attention_bias = false;
  // In tokens; set exactly if layer_types has a sliding layer.
  std::optional<std::uint64_t> sliding_window;
  // Resolved: with `use_sliding_window: false` there is no window, and layers that the file calls
  // sliding are kFullAttention here, so that a forward gives them every key that causality allows.
  std::vector<LayerType> layer_types;
  std::optional<bool> is_causal;  // as written (or dflash_config.causal); absent = by layer type
  std::optional<bool> sliding_window_non_causal;  // speculators key, as written
  // Resolved by spec/drafter.md section 4.4, from the layer types as the file has them: a layer
  // whose window is switched off is still causal if sliding layers are.
  std::vector<bool> layer_causal;
  std::optional<std::uint64_t> max_position_embeddings;
  bool tie_word_embeddings = false;
  std::uint64_t markov_rank = 0;
  std::optional<std::string> markov_head_type;
  bool confidence_head = false;
  bool confidence_head_with_markov = false;
  std::uint64_t conv_kernel_size = 0;
  std::uint64_t conv_group_size = 0;
  std::uint64_t selector_rank = 0;
  std::uint64_t selector_top_k = 0;
  double output_multiplier = 1;
  std::optional<double> final_logit_softcapping;  // c of c * tanh(z / c)
  double input_embedding_scale = 1;

  std::uint64_t q_dim() const { return num_attention_heads * head_dim; }
  std::uint64_t kv_dim() const { return num_key_value_heads * head_dim; }
  std::uint64_t tap_width() const { return target_layer_ids.size() * target_hidden_size; }
  // Drafts of a block of `gamma` rows.
  std::uint64_t drafts(std::uint64_t gamma) const {
    return row_convention == RowConvention::kInPlace ? gamma - 1 : gamma;
  }
};

// True if the parsed file describes a drafter (and not a target model).
bool IsDrafterConfig(const Json& json);

// `source` is the file's name for messages. `entry` selects one of the entries (by its `name`) when
// the file is a collection like spec/drafter_configs.json; a collection of one needs none.
StatusOr<DrafterConfig> ParseDrafterConfig(const Json& json, const std::string& source,
                                           const std::string& entry = "");
StatusOr<DrafterConfig> LoadDrafterConfig(const std::string& path, const std::string& entry = "");

// The names of a collection's entries, in the file's order; empty if `json` is no collection.
std::vector<std::string> DrafterEntryNames(const Json& json);

// Parameters of the checkpoint's own tensors, by spec/drafter.md section 1.1 (without the target's
// embedding and LM head).
std::uint64_t CountDrafterParameters(const DrafterConfig& config);

// The geometry with the key names and order of cases/hf_configs/expected.json.
OrderedJson GeometryToJson(const DrafterConfig& config);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CONFIG_DRAFTER_CONFIG_H_
