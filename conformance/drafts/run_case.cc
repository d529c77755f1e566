#include "conformance/drafts/run_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "conformance/plain/tapped_stages.h"
#include "src/weights/weights.h"

namespace draftmark {
namespace {

// Long tails go in chunks: a window this small makes every longer case take several passes.
constexpr std::uint64_t kContextRowsPerPass = 64;

}  // namespace

StatusOr<std::unique_ptr<DraftSession>> OpenReferenceForCase(const DrafterCase& drafter_case,
                                                             const SessionLimits& limits,
                                                             Precision precision) {
  return OpenReferenceWith({})(drafter_case, limits, precision);
}

OpenSession OpenReferenceWith(const reference::ReferenceOptions& options) {
  return [options](const DrafterCase& drafter_case, SessionLimits limits,
                   Precision precision) -> StatusOr<std::unique_ptr<DraftSession>> {
    if (!options.paged) limits.ctx_window = std::max(limits.ctx_window, limits.max_context);
    DM_ASSIGN_OR_RETURN(DrafterWeights weights,
                        LoadDrafterWeights(drafter_case.config(), drafter_case.checkpoint()));
    return reference::OpenReferenceSession(
        drafter_case.config(), std::make_shared<const DrafterWeights>(std::move(weights)), limits,
        precision, options);
  };
}

namespace {

// One session at the steps of a case.
class CaseSession {
 public:
  static StatusOr<CaseSession> Open(const DrafterCase& drafter_case, Precision precision,
                                    const OpenSession& open);
  // The results of the case's own sequence; `sink` may be null.
  StatusOr<BlockResult> Step(std::size_t step, StageSink* sink);

 private:
  CaseSession(const DrafterCase& drafter_case, std::unique_ptr<DraftSession> session)
      : case_(&drafter_case), session_(std::move(session)) {}
  Status Apply(std::size_t band, const CaseStep& step);

  const DrafterCase* case_;  // outlives this
  std::unique_ptr<DraftSession> session_;
};

StatusOr<CaseSession> CaseSession::Open(const DrafterCase& drafter_case, Precision precision,
                                        const OpenSession& open) {
  SessionLimits limits;
  limits.max_batch = 1 + drafter_case.neighbours().size();
  limits.max_context = drafter_case.largest_context();
  limits.ctx_window = kContextRowsPerPass;
  for (const CaseStep& step : drafter_case.steps()) {
    limits.gamma = std::max<std::uint64_t>(limits.gamma, step.block_tokens.size());
  }
  StatusOr<std::unique_ptr<DraftSession>> opened = open(drafter_case, limits, precision);
  if (!opened.ok()) return opened.status().Annotated(drafter_case.directory());
  return CaseSession(drafter_case, *std::move(opened));
}

Status CaseSession::Apply(std::size_t band, const CaseStep& step) {
  if (step.reset) {
    DM_RETURN_IF_ERROR(session_->Reset(band));
  } else {
    DM_RETURN_IF_ERROR(session_->DropFront(band, step.drop_front_rows));
  }
  std::vector<std::int32_t> positions(step.new_context_rows);
  std::iota(
      positions.begin(), positions.end(),
      static_cast<std::int32_t>(step.start - static_cast<std::int64_t>(step.new_context_rows)));
  return session_->AppendContext(band, step.target_hidden, positions);
}

StatusOr<BlockResult> CaseSession::Step(std::size_t step, StageSink* sink) {
  std::vector<BlockRequest> requests;
  std::size_t own = 0;
  for (std::size_t band = 0; band <= case_->neighbours().size(); ++band) {
    const std::vector<CaseStep>& steps =
        band == case_->band() ? case_->steps()
                              : case_->neighbours()[band < case_->band() ? band : band - 1];
    if (step >= steps.size()) continue;
    DM_RETURN_IF_ERROR(Apply(band, steps[step]));
    if (steps[step].rests) continue;
    if (band == case_->band()) own = requests.size();
    requests.push_back({band, steps[step].block_tokens, steps[step].start});
  }
  DM_ASSIGN_OR_RETURN(std::vector<BlockResult> results, session_->Propose(requests, sink));
  if (results.size() != requests.size()) {
    return InternalError(fmt::format("{}: step {}: expected {} results, found {}",
                                     case_->directory(), step, requests.size(), results.size()));
  }
  return std::move(results[own]);
}

// Whether the case's own sequence lacks a position between its first context row and the anchor.
bool HasGap(const DrafterCase& drafter_case, std::size_t step) {
  std::vector<std::int64_t> positions;
  for (std::size_t s = 0; s <= step; ++s) {
    const CaseStep& one = drafter_case.steps()[s];
    positions.erase(positions.begin(),
                    positions.begin() + static_cast<std::ptrdiff_t>(one.drop_front_rows));
    const auto rows = static_cast<std::int64_t>(one.new_context_rows);
    for (std::int64_t i = 0; i < rows; ++i) positions.push_back(one.start - rows + i);
  }
  const std::int64_t start = drafter_case.steps()[step].start;
  return !positions.empty() &&
         start - positions.front() != static_cast<std::int64_t>(positions.size());
}

// Whether tokens are the same where no sink sees the stages.
StageVerdict CompareReplay(std::size_t step, const TappedStages& tapped,
                           const BlockResult& unseen) {
  StageVerdict verdict;
  verdict.step = step;
  verdict.stage = "draft_tokens";
  verdict.rule = "the tokens of a session without a sink";
  const auto seen = tapped.find(verdict.stage);
  if (seen == tapped.end()) return verdict;  // fails already
  const std::vector<double> tokens(unseen.draft_tokens.begin(), unseen.draft_tokens.end());
  if (tokens != seen->second.values) {
    verdict.Fail(FailureKind::kReplay,
                 fmt::format("without a sink the tokens are {}, with one {}",
                             fmt::join(tokens, " "), fmt::join(seen->second.values, " ")));
  }
  return verdict;
}

}  // namespace

Status TapCase(const DrafterCase& drafter_case, Precision precision, const OpenSession& open,
               const std::function<Status(std::size_t step, const TappedStages& tapped)>& on_step) {
  DM_ASSIGN_OR_RETURN(CaseSession session, CaseSession::Open(drafter_case, precision, open));
  for (std::size_t s = 0; s < drafter_case.steps().size(); ++s) {
    StageCollector collector;
    DM_RETURN_IF_ERROR(session.Step(s, &collector).status());
    DM_RETURN_IF_ERROR(on_step(s, collector.band(drafter_case.band())));
  }
  return OkStatus();
}

StatusOr<CaseReport> RunDrafterCase(const DrafterCase& drafter_case, Precision precision,
                                    const Backend& backend, const OpenSession& open) {
  CaseReport report;
  report.id = drafter_case.id().ToString();
  report.directory = drafter_case.directory();
  report.backend = backend.name;
  report.precision = precision;
  report.scratch = backend.scratch;
  report.path = backend.path;
  DM_ASSIGN_OR_RETURN(const DrafterWeights weights,
                      LoadDrafterWeights(drafter_case.config(), drafter_case.checkpoint()));
  const StatusOr<std::unique_ptr<LocalOracle>> oracle =
      LocalOracle::Open(drafter_case, weights, precision, backend.accumulation);
  std::vector<StepBounds> bounds;  // of kBf16
  std::optional<CaseSession> unseen;
  if (drafter_case.replay()) {
    DM_ASSIGN_OR_RETURN(unseen, CaseSession::Open(drafter_case, precision, open));
  }
  std::size_t steps_judged = 0;
  bool proposed = false;
  const auto judge = [&](std::size_t s, const TappedStages& tapped) -> Status {
    proposed = true;
    // Here, so that what a session refuses is told by the session.
    DM_RETURN_IF_ERROR(oracle.status());
    // In exact the comparison with the case is as sharp.
    LocalStages local;
    if (precision == Precision::kBf16) {
      local = (*oracle)->Step(s, tapped);
      if (bounds.empty()) {
        DM_ASSIGN_OR_RETURN(bounds, BoundsOfSteps(drafter_case, weights));
      }
    }
    DM_ASSIGN_OR_RETURN(std::vector<StageVerdict> verdicts,
                        JudgeStep(drafter_case, weights, s, precision, tapped, local,
                                  bounds.empty() ? StepBounds() : bounds.at(s)));
    std::move(verdicts.begin(), verdicts.end(), std::back_inserter(report.verdicts));
    if (unseen) {
      DM_ASSIGN_OR_RETURN(const BlockResult result, unseen->Step(s, nullptr));
      report.verdicts.push_back(CompareReplay(s, tapped, result));
    }
    ++steps_judged;
    proposed = false;
    return OkStatus();
  };
  const Status status = TapCase(drafter_case, precision, open, judge);
  if (status.ok()) return report;
  const bool announced = backend.index_masks && !proposed &&
                         status.code() == StatusCode::kFailedPrecondition &&
                         HasGap(drafter_case, steps_judged);
  if (!announced) return status;
  if (report.FirstFailure() == nullptr) {
    report.no_result.reason = fmt::format("step {}: {}", steps_judged, status.message());
  }
  return report;
}

}  // namespace draftmark
