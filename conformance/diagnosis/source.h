// Where a diagnosis takes config, weights and inputs from: a case folder, or the files of a real
// drafter and its target.
// Errors are those of the loaders: file, key or tensor, expected, found.
#ifndef DRAFTMARK_CONFORMANCE_DIAGNOSIS_SOURCE_H_
#define DRAFTMARK_CONFORMANCE_DIAGNOSIS_SOURCE_H_

#include <string>

#include "conformance/plain/forward.h"
#include "src/base/status.h"
#include "src/config/drafter_config.h"
#include "src/weights/weights.h"

namespace draftmark {

struct DiagnosisPaths {
  std::string case_directory;  // or the others
  std::string config;          // empty: config.json in the folder `weights`
  std::string entry;           // of a collection of configs
  std::string weights;         // file, index or folder
  std::string target_weights;  // the same, of the target; may be empty
  std::string inputs;          // inputs.h; with a case: instead of its own
};

struct DiagnosisSource {
  DrafterConfig config;
  DrafterWeights weights;
  plain::Bands bands;
};

StatusOr<DiagnosisSource> LoadDiagnosisSource(const DiagnosisPaths& paths);

// Config and inputs alone, for what needs no weights.
struct DiagnosisInputs {
  DrafterConfig config;
  plain::Bands bands;
};
StatusOr<DiagnosisInputs> LoadDiagnosisInputs(const DiagnosisPaths& paths);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_DIAGNOSIS_SOURCE_H_
