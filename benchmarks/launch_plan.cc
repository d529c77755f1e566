#include "benchmarks/launch_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace draftmark {
namespace {

StatusOr<LaunchPlan> PlanCold(const LaunchFacts& facts) {
  if (facts.l2_bytes == 0) {
    return FailedPreconditionError("not cold: the size of the L2 cache is not known");
  }
  const std::uint64_t traffic =
      std::max<std::uint64_t>(1, facts.traffic.read + facts.traffic.written);
  const std::uint64_t wanted = (kReplayBytes + traffic - 1) / traffic;
  LaunchPlan plan;
  plan.sweep_bytes = 2 * facts.l2_bytes;
  plan.copies = std::max<std::uint64_t>(
      1, std::min({wanted, kMostLaunches, facts.memory_bytes / facts.operand_bytes}));
  // The other copies count for nothing in it: of their operands parts may be touched only.
  plan.reuse_bytes = plan.sweep_bytes;
  return plan;
}

StatusOr<LaunchPlan> PlanWarm(const LaunchFacts& facts) {
  const std::uint64_t footprint = facts.operand_bytes + facts.workspace_bytes;
  if (footprint > facts.l2_bytes / 2) {
    return FailedPreconditionError(
        fmt::format("not warm: its {} bytes are more than half of the L2 cache's {}", footprint,
                    facts.l2_bytes));
  }
  LaunchPlan plan;
  plan.launches_per_copy = kMostLaunches;
  return plan;
}

}  // namespace

StatusOr<LaunchPlan> PlanLaunches(const LaunchFacts& facts, CacheState cache) {
  if (facts.operand_bytes > facts.memory_bytes) {
    return ResourceExhaustedError(fmt::format("its operands take {} bytes, and {} may be used",
                                              facts.operand_bytes, facts.memory_bytes));
  }
  return cache == CacheState::kCold ? PlanCold(facts) : PlanWarm(facts);
}

double LeastReplaySeconds(const LaunchFacts& facts, const LaunchPlan& plan,
                          double theoretical_bytes_per_second) {
  if (theoretical_bytes_per_second <= 0 || plan.sweep_bytes == 0) return 0;
  const std::uint64_t read = plan.copies * facts.traffic.read;
  const std::uint64_t written = plan.copies * facts.traffic.written;
  const std::uint64_t bytes = read + (written > facts.l2_bytes ? written - facts.l2_bytes : 0);
  return static_cast<double>(bytes) / theoretical_bytes_per_second;
}

}  // namespace draftmark
