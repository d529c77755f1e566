// Internal to src/config: the parts that drafter_config.cc is made of.
#ifndef DRAFTMARK_SRC_CONFIG_DRAFTER_LAYOUT_H_
#define DRAFTMARK_SRC_CONFIG_DRAFTER_LAYOUT_H_

#include <optional>
#include <string>
#include <vector>

#include "src/base/json.h"
#include "src/base/status.h"
#include "src/config/alias_key.h"
#include "src/config/drafter_config.h"

namespace draftmark::internal {

// A file with a list `configs`.
bool IsCollection(const Json& json);

// What `entry` selects of a file, and its name for messages. NOT_FOUND lists what there is.
struct SelectedEntry {
  const Json* json;
  std::string source;
};
StatusOr<SelectedEntry> SelectEntry(const Json& json, const std::string& source,
                                    const std::string& entry);

enum class DrafterForm {
  kHuggingFace,  // flat, usually with a `dflash_config` object
  kSpeculators,  // geometry in `transformer_layer_config`
  kEntry,        // one entry of spec/drafter_configs.json, or a geometry that we printed
  kCase,         // config.json of an oracle case (cases/README.md)
};

// Where the keys of one drafter are. The objects point into the parsed JSON.
struct DrafterLayout {
  DrafterForm form;
  JsonObject root;
  JsonObject geometry;               // transformer_layer_config, else root
  std::optional<JsonObject> dflash;  // dflash_config

  // Sizes of the network.
  AliasKey Geometry(const std::vector<std::string_view>& keys) const;
  // Keys of the drafting scheme: dflash_config, else top level (spec/model_config.md section 7).
  AliasKey Scheme(const std::vector<std::string_view>& keys) const;
  // A key that the file may keep in any of its objects.
  AliasKey Anywhere(const std::vector<std::string_view>& keys) const;
};

StatusOr<DrafterLayout> FindLayout(const Json& json, const std::string& source);

// "dflash", "dflash2" or "dspark".
std::optional<DrafterKind> DrafterKindFromName(std::string_view name);

// Refuses by name what drafter.md does not describe: other heads, gates, norms, mixtures, factors
// and caps. UNIMPLEMENTED; INVALID_ARGUMENT for a key of another type.
Status RefuseUnsupported(const DrafterLayout& layout);

// spec/drafter.md section 4.3.
Status ReadRope(const DrafterLayout& layout, RopeConfig& rope);
// Layer types, sliding window and causality, spec/drafter.md section 4.4.
Status ReadAttention(const DrafterLayout& layout, DrafterConfig& config);
// Markov, confidence, convolution and selector; kind and row convention (section 2).
Status ReadHeads(const DrafterLayout& layout, DrafterConfig& config);

// Ranges, divisibility, products that do not fit 64 bits.
Status CheckDrafter(const DrafterLayout& layout, const DrafterConfig& config);
// An entry of drafter_configs.json records derived values too; they must agree with ours.
Status CheckRecordedValues(const DrafterLayout& layout, const DrafterConfig& config);

}  // namespace draftmark::internal

#endif  // DRAFTMARK_SRC_CONFIG_DRAFTER_LAYOUT_H_
