// A check of the mutants' suite: a name, and something that is OK or says what is wrong.
//
//   for (const Check& check : *checks) { const Status status = check.run(); ... }
//
// Checks are small, so that the suite runs once for each mutant, and each of them judges one thing,
// so that its name says what was found. They know nothing of faults. Not thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_MUTANTS_CHECK_H_
#define DRAFTMARK_CONFORMANCE_MUTANTS_CHECK_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conformance/drafts/run_case.h"
#include "conformance/operations/check_operation.h"
#include "src/backend/draft_session.h"
#include "src/base/status.h"
#include "src/config/drafter_config.h"
#include "src/weights/weights.h"

namespace draftmark {

struct Check {
  std::string name;  // "op/rms_norm", "draft/dflash_yarn", "history/two_bands", "memory/red_zones"
  std::function<Status()> run;  // the status's message is the finding; it begins with where it is
};
using Checks = std::vector<Check>;

// Opens a session on weights in memory.
using OpenOnWeights = std::function<StatusOr<std::unique_ptr<DraftSession>>(
    const DrafterConfig& config, const std::shared_ptr<const DrafterWeights>& weights,
    const SessionLimits& limits)>;

// op/NAME for each operation of the registry: its boundary cases up to a few million operations of
// arithmetic, by `judge`.
void AddOperationChecks(
    const std::function<StatusOr<OperationReport>(const OperationCase& c)>& judge, Checks& checks);

// draft/NAME: the cases of golden/drafter and the short ones of golden/drafts, on a backend, in the
// precisions it has.
Status AddDraftChecks(const std::string& golden, const std::vector<Precision>& precisions,
                      const Backend& backend, const OpenSession& open, Checks& checks);

// How near the plain forward a run has to come, as relative L2 error of each stage.
struct HistoryRule {
  Precision precision = Precision::kExact;
  double bound = 1e-9;
  // Stages behind a choice, and differences of nearly equal numbers, which two runs in BF16 need not
  // share.
  bool skip_choices = false;
};
// history/NAME: sequences over several proposes against the plain forward: bands, rejections,
// slides, widths.
void AddHistoryChecks(const HistoryRule& rule, const OpenOnWeights& open, Checks& checks);

// path/..., memory/... and session/... of the reference: properties that no single run shows.
void AddReferenceSessionChecks(Checks& checks);

// All of a backend. CudaSuite: UNAVAILABLE without a GPU, and in builds without CUDA; the backend
// lives as long as the checks.
StatusOr<Checks> ReferenceSuite(const std::string& golden);
StatusOr<Checks> CudaSuite(const std::string& golden);
// The GPU is of no more use in this process: only another one can go on. False without CUDA.
bool DeviceIsLost();

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_MUTANTS_CHECK_H_
