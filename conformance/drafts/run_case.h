// Runs an oracle case on a backend, step by step, and judges every stage. The backend is whatever
// `open` opens.
#ifndef DRAFTMARK_CONFORMANCE_DRAFTS_RUN_CASE_H_
#define DRAFTMARK_CONFORMANCE_DRAFTS_RUN_CASE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conformance/drafts/judge.h"
#include "conformance/operations/no_result.h"
#include "src/backend/draft_session.h"
#include "src/base/json.h"
#include "src/base/status.h"
#include "src/cases/drafter_case.h"
#include "src/reference/session.h"

namespace draftmark {

// Who is judged.
struct Backend {
  std::string name;  // as in --backend
  Accumulation accumulation = Accumulation::kFloat32;
  std::string scratch = {};  // as in --scratch, where it is not the backend's default
  std::string path = {};     // as in --path, likewise
  // Its masks count by index (src/backend/index_masks.h): it may answer FAILED_PRECONDITION to a
  // propose whose context has a gap in its positions, and to no other.
  bool index_masks = false;
};
inline const Backend kReferenceBackend = {"reference", Accumulation::kFloat64};

using OpenSession = std::function<StatusOr<std::unique_ptr<DraftSession>>(
    const DrafterCase& drafter_case, const SessionLimits& limits, Precision precision)>;

// The reference backend on the case's own weights.
StatusOr<std::unique_ptr<DraftSession>> OpenReferenceForCase(const DrafterCase& drafter_case,
                                                             const SessionLimits& limits,
                                                             Precision precision);
// The same with options: another scratch, no cache (then the row buffers hold the whole context).
OpenSession OpenReferenceWith(const reference::ReferenceOptions& options);

struct CaseReport {
  std::string id;         // case id
  std::string directory;  // for the reproduction line
  std::string backend;
  Precision precision = Precision::kExact;
  std::string scratch = {};  // of the backend
  std::string path = {};
  std::vector<StageVerdict> verdicts;  // steps in order, stages in data-flow order
  // Why there are none, or no more: of a plug-in, or what `Backend::index_masks` allows.
  NoResult no_result = {};

  bool passed() const { return no_result.reason.empty() && FirstFailure() == nullptr; }
  // The first stage that is off, or null.
  const StageVerdict* FirstFailure() const;
  std::size_t Failures() const;
  // The verdict that uses most of its bound, or null if none has one.
  const StageVerdict* Tightest() const;
  // What fails, in a form that does not change from run to run and holds no measured number: the
  // first stage that is off, and the kind of its failure ("step1.layers.0.k_new: bound"; the kinds
  // are FailureKind's). Empty if the case passes. Later failures are left out: they follow from the
  // first. Files of expectations quote it (conformance/expectations/expectations.h).
  std::string Signature() const;
};

// Runs the steps of a case on the backend that `open` opens, and hands over all stages of each.
// Stops at the first error, its own or the backend's.
Status TapCase(const DrafterCase& drafter_case, Precision precision, const OpenSession& open,
               const std::function<Status(std::size_t step, const TappedStages& tapped)>& on_step);

// Errors are those of the backend, or of a case that cannot be read; a wrong result is no error but
// a failed verdict, and neither is a refusal that the backend has announced: `no_result` then says
// why, unless a step before it failed.
StatusOr<CaseReport> RunDrafterCase(const DrafterCase& drafter_case, Precision precision,
                                    const Backend& backend, const OpenSession& open);

// One line for a pass; for a failure the first stage that is off, its worst element, the histogram
// of its errors, its signature and the command that reproduces it. Ends with a newline.
std::string ReportText(const CaseReport& report);
OrderedJson ReportJson(const CaseReport& report);
// "draftmark verify DIR --backend reference --precision bf16", and " --scratch v1" and
// " --path simple" where they apply.
std::string ReproductionLine(const CaseReport& report);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_DRAFTS_RUN_CASE_H_
