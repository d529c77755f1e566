#include <fmt/format.h>

#include "conformance/mutants/check.h"
#include "src/base/file_system.h"
#include "src/cases/drafter_case.h"

namespace draftmark {
namespace {

// Of golden/drafts: one for each rule that golden/drafter does not have. The others are either long
// or show nothing more.
constexpr std::string_view kGenerated[] = {
    "dflash-qwen3-4b-block7",  // anchor first, without a Markov head
    "dspark-qwen3-4b-block7",  // Markov and confidence heads
    "synthetic-partial-rotary",
    "synthetic-half-of-head",  // convolutions, selector, mask embedding
    "synthetic-rnn-markov",
};

Status RunDraft(const std::string& directory, const std::vector<Precision>& precisions,
                const Backend& backend, const OpenSession& open) {
  DM_ASSIGN_OR_RETURN(const DrafterCase drafter_case, DrafterCase::Load(directory));
  for (const Precision precision : precisions) {
    DM_ASSIGN_OR_RETURN(const CaseReport report,
                        RunDrafterCase(drafter_case, precision, backend, open));
    if (report.verdicts.empty()) return InternalError("no stage was judged");
    if (report.FirstFailure() != nullptr) {
      return InternalError(fmt::format("{} ({})", report.Signature(), PrecisionName(precision)));
    }
  }
  return OkStatus();
}

}  // namespace

Status AddDraftChecks(const std::string& golden, const std::vector<Precision>& precisions,
                      const Backend& backend, const OpenSession& open, Checks& checks) {
  const std::vector<std::string> imported = FindDrafterCases(JoinPath(golden, "drafter"));
  if (imported.empty()) {
    return NotFoundError(fmt::format("{}: holds no drafter case", JoinPath(golden, "drafter")));
  }
  std::vector<std::string> directories = imported;
  for (const std::string_view name : kGenerated) {
    directories.push_back(JoinPath(JoinPath(golden, "drafts"), name));
  }
  for (const std::string& directory : directories) {
    checks.push_back({"draft/" + directory.substr(directory.rfind('/') + 1),
                      [=] { return RunDraft(directory, precisions, backend, open); }});
  }
  return OkStatus();
}

}  // namespace draftmark
