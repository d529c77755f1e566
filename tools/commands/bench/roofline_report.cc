#include "tools/commands/bench/roofline_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "benchmarks/draft_cost.h"

namespace draftmark {
namespace {

Status CheckPossible(const std::string& id, const char* path, double seconds, std::uint64_t bytes,
                     const MachineFacts& facts) {
  if (!(seconds > 0)) {
    return InternalError(fmt::format("{}: {}: a time of {} ms", id, path, seconds * 1e3));
  }
  if (!facts.theoretical_bytes_per_second) return OkStatus();
  const double least = static_cast<double>(bytes) / *facts.theoretical_bytes_per_second;
  if (seconds >= least) return OkStatus();
  return InternalError(fmt::format(
      "{}: {}: {:.4f} ms cannot be: reading {} bytes takes {:.4f} ms at the theoretical bandwidth "
      "of {:.3f} TB/s",
      id, path, seconds * 1e3, bytes, least * 1e3, *facts.theoretical_bytes_per_second / 1e12));
}

// Every one of the times.
Status CheckPossible(const std::string& id, const char* path, const TimedRuns& runs,
                     std::uint64_t bytes, const MachineFacts& facts) {
  const double shortest =
      std::min({runs.median_ms, runs.min_ms, runs.p90_ms, runs.queued_ms}) / 1e3;
  return CheckPossible(id, path, shortest, bytes, facts);
}

template <typename T>
Status CheckPaths(const std::string& id, const ByPath<T>& times, std::uint64_t bytes,
                  const MachineFacts& facts) {
  DM_RETURN_IF_ERROR(CheckPossible(id, "simple", times.simple, bytes, facts));
  return times.fast ? CheckPossible(id, "fast", *times.fast, bytes, facts) : OkStatus();
}

bool MachineLacks(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kResourceExhausted;
}

}  // namespace

double WorkResult::ratio() const { return times ? times->taken().median_ms / floor_ms : 0; }

std::optional<double> WorkResult::factor() const {
  if (!times || !baseline) return std::nullopt;
  return baseline->best().milliseconds / times->taken().median_ms;
}

WorkResult JudgeWork(const RooflineWork& work, const MachineFacts& facts,
                     const StatusOr<ByPath<TimedRuns>>& times) {
  const DraftCase& draft = work.draft;
  WorkResult result;
  result.id = draft.id;
  result.must = work.must;
  result.aim = work.aim;
  result.floor_bytes = FloorBytes(draft.config, draft.shape).total();
  result.unique_bytes = UniqueBytes(draft.config, draft.shape);
  result.second_read_bytes = SecondReadBytes(draft.config, draft.shape);
  result.floor_ms = static_cast<double>(result.floor_bytes) / facts.copy_bytes_per_second * 1e3;
  result.status = times.ok() ? CheckPaths(draft.id, *times, result.unique_bytes, facts)
                             : times.status().Annotated(draft.id);
  if (result.status.ok()) result.times = *times;
  return result;
}

LinearResult JudgeLinear(const LinearLine& line, const MachineFacts& facts,
                         const StatusOr<ByPath<double>>& seconds) {
  LinearResult result;
  result.line = line;
  const std::uint64_t bytes = line.shape.bytes();
  result.goal = LinearGoalOf(bytes);
  result.status = seconds.ok() ? CheckPaths(line.id(), *seconds, bytes, facts)
                               : seconds.status().Annotated(line.id());
  if (!result.status.ok()) return result;
  result.seconds = *seconds;
  const auto share = [&](double time) {
    return static_cast<double>(bytes) / time / facts.copy_bytes_per_second;
  };
  result.share.simple = share(seconds->simple);
  if (seconds->fast) result.share.fast = share(*seconds->fast);
  return result;
}

std::vector<LinearSummary> Summarise(const std::vector<LinearResult>& linear) {
  std::vector<LinearSummary> summaries;
  for (const LinearGoal& goal : kLinearGoals) {
    LinearSummary summary = {
        .goal = goal, .worst_id = "", .worst = 0, .mean = 0, .must_met = true, .aim_met = true};
    double sum = 0;
    std::size_t timed = 0;
    for (const LinearResult& result : linear) {
      if (result.goal.name != goal.name) continue;
      const double share = result.seconds ? result.share.taken() : 0;
      if (summary.worst_id.empty() || share < summary.worst) {
        summary.worst_id = result.line.id();
        summary.worst = share;
      }
      sum += share;
      timed += result.seconds ? 1 : 0;
      summary.must_met = summary.must_met && result.must_met();
      summary.aim_met = summary.aim_met && result.aim_met();
    }
    if (summary.worst_id.empty()) continue;
    if (timed > 0) summary.mean = sum / static_cast<double>(timed);
    summaries.push_back(summary);
  }
  return summaries;
}

std::size_t RooflineReport::passed() const {
  const auto met = [](const auto& result) { return result.must_met(); };
  return static_cast<std::size_t>(std::count_if(works.begin(), works.end(), met) +
                                  std::count_if(linear.begin(), linear.end(), met));
}

std::size_t RooflineReport::failed() const { return works.size() + linear.size() - passed(); }

ExitCode ExitCodeOf(const RooflineReport& report) {
  const auto lacks = [](const auto& result) { return MachineLacks(result.status); };
  if (std::any_of(report.works.begin(), report.works.end(), lacks) ||
      std::any_of(report.linear.begin(), report.linear.end(), lacks)) {
    return kExitError;
  }
  return report.failed() > 0 ? kExitMismatch : kExitGood;
}

}  // namespace draftmark
