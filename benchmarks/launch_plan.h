// How an operation is launched again and again so that its operands are cold, or warm, by proof.
//
//   DM_ASSIGN_OR_RETURN(const LaunchPlan plan,
//                       PlanLaunches({.traffic = .., .operand_bytes = .., .l2_bytes = ..}, kCold));
//
// A sample is one replay of a graph of launches. Cold: each launch has a copy of the operands of its
// own, and before each replay other memory of twice the L2 cache is read (the sweep), so that between
// two touches of a byte at least that much else was touched. Warm: one copy, launched several times
// per replay, which together with its workspace fits half of the L2 cache. A label that cannot be
// proved is refused. Pure.
#ifndef DRAFTMARK_BENCHMARKS_LAUNCH_PLAN_H_
#define DRAFTMARK_BENCHMARKS_LAUNCH_PLAN_H_

#include <cstdint>

#include "src/base/status.h"
#include "src/operations/operation.h"

namespace draftmark {

enum class CacheState { kCold, kWarm };

struct LaunchFacts {
  Traffic traffic = {};               // of one launch
  std::uint64_t operand_bytes = 0;    // of one copy in memory
  std::uint64_t workspace_bytes = 0;  // shared by the copies, as by the launches of a draft
  std::uint64_t l2_bytes = 0;         // 0: not known
  std::uint64_t memory_bytes = 0;     // that copies may take
};

struct LaunchPlan {
  std::uint64_t copies = 1;
  std::uint64_t launches_per_copy = 1;
  std::uint64_t sweep_bytes = 0;  // read before each replay; 0: none
  // Bytes of other memory that are touched between two touches of an operand: at least 2 x L2 if cold.
  std::uint64_t reuse_bytes = 0;

  std::uint64_t launches() const { return copies * launches_per_copy; }
};

inline constexpr std::uint64_t kMostLaunches = 64;
// Enough that what a graph takes to start (some microseconds) is a few percent of it.
inline constexpr std::uint64_t kReplayBytes = std::uint64_t{512} << 20;

// FAILED_PRECONDITION with the reason if the label would not be proved; RESOURCE_EXHAUSTED if not one
// copy fits.
StatusOr<LaunchPlan> PlanLaunches(const LaunchFacts& facts, CacheState cache);

// The least time of a replay, by what must cross the memory bus if operands are cold: all that is
// read, and what is written beyond the L2 cache, where it may stay. 0 if the bandwidth is 0.
double LeastReplaySeconds(const LaunchFacts& facts, const LaunchPlan& plan,
                          double theoretical_bytes_per_second);

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_LAUNCH_PLAN_H_
