// Reads a folder of published configs and compares what we understand with what it must give.
//
//   DM_ASSIGN_OR_RETURN(const std::vector<ConfigCheck> checks, CheckConfigs("golden/configs"));
//   for (const ConfigCheck& check : checks) out << check.ToString() << "\n";
//
// The folder has `expected.json`: `targets.STEM` with `file`, `family` and the 34 fields of
// `config`, `drafters.STEM` with `file` and `geometry` (spec/model_config.md). With a
// `drafter_configs.json` beside it every entry of the catalogue is checked too: those that record
// a parameter count must be read and agree with their own values, the others must be refused.
// A folder that does not follow the format is an error; a config that is understood wrongly or not
// at all is a failed check. Pure functions, thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_CONFIGS_CHECK_CONFIGS_H_
#define DRAFTMARK_CONFORMANCE_CONFIGS_CHECK_CONFIGS_H_

#include <functional>
#include <string>
#include <vector>

#include "src/base/json.h"
#include "src/base/status.h"
#include "src/config/drafter_config.h"
#include "src/config/model_config.h"

namespace draftmark {

struct ConfigCheck {
  std::string name;     // "target/STEM", "drafter/STEM", "catalogue/ENTRY"
  std::string failure;  // empty = passed; else one line: field, expected, found

  bool passed() const { return failure.empty(); }
  // "ok   NAME" or "FAIL NAME: FAILURE".
  std::string ToString() const;
};

// What the folder judges. The default is this project's; tests put mutants in.
struct ConfigImplementation {
  std::function<StatusOr<ModelConfig>(const std::string& path)> target = LoadModelConfig;
  std::function<StatusOr<DrafterConfig>(const std::string& path, const std::string& entry)>
      drafter = LoadDrafterConfig;
};

// Targets, drafters, then the catalogue, each in the order of their names.
StatusOr<std::vector<ConfigCheck>> CheckConfigs(const std::string& directory,
                                                const ConfigImplementation& implementation = {});

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_CONFIGS_CHECK_CONFIGS_H_
