// ModelConfig: the 34 sizing fields of a target model, read from its config file.
//
//   DM_ASSIGN_OR_RETURN(const ModelConfig config, LoadModelConfig("config.json"));
//   const SizingFields& fields = config.fields;   // what BufferSizes takes
//
// Reads our flat JSON (exactly the 34 fields; family "flat") and the Hugging Face config.json files
// of the families of spec/model_config.md section 2, plus Mistral's params.json. Counts and widths
// are in elements, heads, experts or ranks. Nothing is guessed: where a class default or another
// engine fills in a missing key, the answer here is an error (section 5), and a config that comes
// back is consistent. A plain value type; the functions are pure but for Load, and thread-safe.
//
// Errors name file, key, expected and found:
//   NOT_FOUND         a required key is absent
//   INVALID_ARGUMENT  wrong type, range or contradiction
//   UNIMPLEMENTED     unknown family
//   OUT_OF_RANGE      a product does not fit 64 bits
//   DATA_LOSS         not JSON, or JSON that is no object
#ifndef DRAFTMARK_SRC_CONFIG_MODEL_CONFIG_H_
#define DRAFTMARK_SRC_CONFIG_MODEL_CONFIG_H_

#include <string>

#include "src/base/json.h"
#include "src/base/status.h"
#include "src/config/sizing_fields.h"

namespace draftmark {

// Names accepted beyond the table of section 2. Each is its own family's, so none makes another
// family's file readable:
//   model_type         qwen3_vl_text, qwen3_vl_moe_text, glm5_next_text: text-only exports, which
//                      carry the inner type at the top level; read as the nested form
//   model_type         m2m_100, nllb: section 4.7 has their rule, the table has no row
//   architectures[0]   KimiLinearForCausalLM: the bare kimi_linear of the kimi_k3 row
//   inner type         mistral, under mistral3: Mistral Small 3.x is dense and wraps a mistral text
//                      model in the same top-level type as Small 4. The only inner type that is
//                      looked at; any other keeps mistral3's row (Small 4)
struct ModelConfig {
  // Canonical short name: the top-level model_type, with one name where files use several
  // ("qwen4_exp" for qwen3_8_flash_next, "kimi_k3" for kimi_linear, "qwen3_5" for its text-only
  // exports), "mistral_params" for params.json, "flat" for our own form.
  std::string family;
  SizingFields fields;
};

// The file must have been parsed with allow_nonfinite (published files contain a bare Infinity).
// `source` is its name for messages. A drafter's config is refused: as a target it would size the
// wrong model.
StatusOr<ModelConfig> ParseModelConfig(const Json& json, const std::string& source);
StatusOr<ModelConfig> LoadModelConfig(const std::string& path);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CONFIG_MODEL_CONFIG_H_
