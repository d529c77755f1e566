#include "conformance/drafts/run_case.h"

#include <numeric>
#include <utility>

#include "conformance/plain/tapped_stages.h"
#include "src/reference/session.h"
#include "src/weights/weights.h"

namespace draftmark {
namespace {

// Long tails go in chunks: a window this small makes every longer case take several passes.
constexpr std::uint64_t kContextRowsPerPass = 64;

}  // namespace

StatusOr<std::unique_ptr<DraftSession>> OpenReferenceForCase(const DrafterCase& drafter_case,
                                                             const SessionLimits& limits,
                                                             Precision precision) {
  DM_ASSIGN_OR_RETURN(DrafterWeights weights,
                      LoadDrafterWeights(drafter_case.config(), drafter_case.checkpoint()));
  return reference::OpenReferenceSession(drafter_case.config(),
                                         std::make_shared<const DrafterWeights>(std::move(weights)),
                                         limits, precision);
}

Status TapCase(const DrafterCase& drafter_case, Precision precision, const OpenSession& open,
               const std::function<Status(std::size_t step, const TappedStages& tapped)>& on_step) {
  SessionLimits limits;
  limits.max_batch = 1;
  limits.max_context = drafter_case.largest_context();
  limits.ctx_window = kContextRowsPerPass;
  limits.gamma = drafter_case.gamma();
  StatusOr<std::unique_ptr<DraftSession>> opened = open(drafter_case, limits, precision);
  if (!opened.ok()) return opened.status().Annotated(drafter_case.directory());
  DraftSession& session = **opened;
  for (std::size_t s = 0; s < drafter_case.steps().size(); ++s) {
    const CaseStep& step = drafter_case.steps()[s];
    DM_RETURN_IF_ERROR(session.DropFront(0, step.drop_front_rows));
    std::vector<std::int32_t> positions(step.new_context_rows);
    std::iota(
        positions.begin(), positions.end(),
        static_cast<std::int32_t>(step.start - static_cast<std::int64_t>(step.new_context_rows)));
    DM_RETURN_IF_ERROR(session.AppendContext(0, step.target_hidden, positions));
    StageCollector collector;
    const BlockRequest request = {0, step.block_tokens, step.start};
    DM_RETURN_IF_ERROR(session.Propose({&request, 1}, &collector).status());
    DM_RETURN_IF_ERROR(on_step(s, collector.band()));
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
  const auto judge = [&](std::size_t s, const TappedStages& tapped) -> Status {
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
    return OkStatus();
  };
  DM_RETURN_IF_ERROR(TapCase(drafter_case, precision, open, judge));
  return report;
}

}  // namespace draftmark
