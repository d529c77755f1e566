#include "kernels/draft/testing/soak.h"

#include <fmt/format.h>

namespace draftmark::kernels {
namespace {

void Count(const DraftStep& step, SoakReport& report) {
  for (const DraftStep::Change& change : step.changes) {
    report.appended_rows += change.positions.size();
    if (change.kind == DraftStep::Change::Kind::kDrop) ++report.slides;
    if (change.kind == DraftStep::Change::Kind::kReset) ++report.resets;
  }
  report.blocks += step.requests.size();
  ++report.proposes;
}

Status CheckMemory(const SoakProbe& probe, std::uint64_t step, std::uint64_t checked,
                   SoakReport& report, bool warm) {
  ++report.checks;
  if (const Status status = probe.canaries(); !status.ok()) {
    return status.Annotated(fmt::format("between steps {} and {}", checked, step));
  }
  const std::uint64_t live = probe.live_bytes();
  if (warm && report.live_bytes != 0 && live != report.live_bytes) {
    return InternalError(fmt::format("between steps {} and {}: expected {} live bytes, found {}",
                                     checked, step, report.live_bytes, live));
  }
  if (warm) report.live_bytes = live;
  return OkStatus();
}

}  // namespace

StatusOr<SoakReport> RunSoak(DraftSession& session, RandomDriver& driver, const SoakPlan& plan,
                             const SoakProbe& probe) {
  SoakReport report;
  std::uint64_t checked = 0;
  for (std::uint64_t i = 1; i <= plan.steps; ++i) {
    const DraftStep& step = driver.Next();
    const StatusOr<std::vector<BlockResult>> results = RunStep(session, step);
    if (!results.ok()) return results.status().Annotated(fmt::format("step {}", i));
    Count(step, report);
    if (results->size() != step.requests.size()) {
      return InternalError(fmt::format("step {}: expected {} results, found {}", i,
                                       step.requests.size(), results->size()));
    }
    if (probe.compare && i % plan.compare_every == 0) {
      ++report.compared;
      if (const Status status = probe.compare(step, *results); !status.ok()) {
        return status.Annotated(fmt::format("step {}", i));
      }
    }
    if (i % plan.check_every != 0 && i != plan.steps) continue;
    DM_RETURN_IF_ERROR(CheckMemory(probe, i, checked, report, i >= plan.warm_up));
    checked = i;
  }
  return report;
}

}  // namespace draftmark::kernels
