// Internal to src/config: how one family of Hugging Face configs is read.
//
// A family is a row of data (FamilyRules): its names, and which variant of each common rule of
// spec/model_config.md section 3 it follows. Only what no row can say is code (`refine`).
#ifndef DRAFTMARK_SRC_CONFIG_FAMILY_H_
#define DRAFTMARK_SRC_CONFIG_FAMILY_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "src/base/json.h"
#include "src/base/status.h"
#include "src/config/alias_key.h"
#include "src/config/sizing_fields.h"

namespace draftmark::internal {

// The two objects of a file that sizing may read. They point into the parsed JSON.
struct FamilyInput {
  JsonObject text;  // text_config, llm_config or language_config; else the top level
  JsonObject root;
  bool nested;  // text is not root

  AliasKey Text(const std::vector<std::string_view>& keys) const { return AliasKey({&text}, keys); }
};

enum class HeadDimRule {
  kKey,            // the key is required
  kKeyOrQuotient,  // else hidden_size / num_attention_heads, which must be exact
  kMla,            // max(key, nope + rope): section 4.5
};
enum class ExpertRule {
  kOptional,  // no key: a dense model
  kRequired,  // the family is a mixture; a class default would replace a missing key
};
enum class ExpertWidthRule {
  kKey,
  kFfn,       // the experts use intermediate_size
  kKeyOrFfn,  // moe_intermediate_size, else intermediate_size
};
// The width of all shared experts together: its own key, else a number of shared experts times
// moe_intermediate_size.
enum class SharedRule {
  kOptional,  // neither is there: 0, as section 3 says
  kRequired,  // neither is there: an error. The family's row says so (Step 3.7, Laguna), or names a
              // class default that would fill the gap (Qwen3-Next, Qwen3.5 MoE: 512)
  kNone,      // the family has no shared expert, whatever the keys say
};
enum class FfnRule {
  kUnlessPureMoe,  // absent: 0 if the file is a pure mixture
  kRequired,       // dense layers, or a dense FFN beside the experts, in every model
};
enum class MropeRule { kFromFile, kNever, kAlways };

struct FamilyRules {
  std::string_view family;
  std::vector<std::string_view> model_types = {};    // top-level model_type
  std::vector<std::string_view> architectures = {};  // architectures[0] when there is no model_type
  bool text_required = false;                        // a flat file is refused
  bool attn_gated = false;
  HeadDimRule head_dim = HeadDimRule::kKey;
  ExpertRule experts = ExpertRule::kOptional;
  ExpertWidthRule expert_width = ExpertWidthRule::kKey;
  SharedRule shared = SharedRule::kOptional;
  FfnRule ffn = FfnRule::kUnlessPureMoe;
  MropeRule mrope = MropeRule::kFromFile;
  // Where two spellings of one value differ, the first wins instead of an error (Step 3.7).
  bool first_spelling_wins = false;
  // Sizing fields whose key must be present; the second list's must also be above 0.
  std::vector<std::string_view> present = {};
  std::vector<std::string_view> positive = {};
  // False: the model has no expert layer, and num_experts is 0 whatever the keys say.
  StatusOr<bool> (*has_experts)(const FamilyInput& input) = nullptr;
  // Runs after the common rules.
  Status (*refine)(const FamilyInput& input, SizingFields& fields) = nullptr;
};

// The rows, one function per file.
const std::vector<FamilyRules>& QwenAndDenseFamilies();
const std::vector<FamilyRules>& HybridFamilies();
const std::vector<FamilyRules>& MlaFamilies();
const std::vector<FamilyRules>& OtherMoeFamilies();

// Section 3.
Status ReadCommon(const FamilyInput& input, const FamilyRules& rules, SizingFields& fields);

// Forms with key names of their own.
Status ReadMistralParams(const JsonObject& root, SizingFields& fields);
Status ReadEncoderDecoder(const JsonObject& root, SizingFields& fields);  // M2M-100, NLLB

// Consistency of section 5, and every product that no argument of the sizing enters.
Status CheckFields(const std::string& source, const SizingFields& fields);

// A size or a list of sizes per layer, of which the largest counts.
StatusOr<std::uint64_t> ReadWidest(const JsonObject& object, std::string_view key);
// A required key that must be above 0.
StatusOr<std::uint64_t> ReadPositive(const JsonObject& object, std::string_view key);
// quotient = dividend / divisor, exact; NOT_FOUND naming head_dim otherwise.
StatusOr<std::uint64_t> HeadDimFromQuotient(const JsonObject& object, std::uint64_t hidden_size,
                                            std::uint64_t heads);

}  // namespace draftmark::internal

#endif  // DRAFTMARK_SRC_CONFIG_FAMILY_H_
