// What a roofline has found, and whether it is good enough. Pure: times come in as numbers.
//
//   report.works.push_back(JudgeWork(work, report.facts, machine.TimeDraft(work.draft, runs)));
//   report.linear.push_back(JudgeLinear(line, report.facts, machine.TimeLinear(shape, rows)));
//   context.exit_code = ExitCodeOf(report);
//
// A time in which memory at its theoretical bandwidth could not have brought the bytes that every
// computation needs is no record but an error of its case: something was not computed, or was kept
// on the chip. Where the driver does not tell that bandwidth, nothing is known to be impossible but
// a time of zero.
#ifndef DRAFTMARK_TOOLS_COMMANDS_BENCH_ROOFLINE_REPORT_H_
#define DRAFTMARK_TOOLS_COMMANDS_BENCH_ROOFLINE_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/roofline/baseline.h"
#include "benchmarks/roofline/goals.h"
#include "benchmarks/roofline/linear_shapes.h"
#include "benchmarks/roofline/machine.h"
#include "src/base/status.h"
#include "tools/commands/command.h"

namespace draftmark {

struct WorkResult {
  std::string id;
  double must = 0;  // of the ratio
  double aim = 0;
  std::uint64_t floor_bytes = 0;
  std::uint64_t unique_bytes = 0;
  std::uint64_t second_read_bytes = 0;
  double floor_ms = 0;
  Status status;  // what is wrong, if there are no times
  std::optional<ByPath<TimedRuns>> times;
  std::optional<BaselineTimes> baseline;

  // Median over floor, of the path that drafts take; 0 without times.
  double ratio() const;
  bool must_met() const { return times && ratio() <= must; }
  bool aim_met() const { return times && ratio() <= aim; }
  // How many times faster than the baseline's best column.
  std::optional<double> factor() const;
};

struct LinearLine {
  LinearShape shape;
  std::uint64_t rows = 0;

  std::string id() const { return shape.Id(rows); }
};

struct LinearResult {
  LinearLine line;
  LinearGoal goal;
  Status status;  // what is wrong, if there are no times
  std::optional<ByPath<double>> seconds;
  ByPath<double> share;  // of the copy bandwidth, with the times

  bool must_met() const { return seconds && share.taken() >= goal.must; }
  bool aim_met() const { return seconds && share.taken() >= goal.aim; }
};

// Of the lines of one class.
struct LinearSummary {
  LinearGoal goal;
  std::string worst_id;  // of the lowest share; of a line without times, if there is one
  double worst = 0;
  double mean = 0;  // over the lines with times
  bool must_met = false;
  bool aim_met = false;
};

struct RooflineReport {
  MachineFacts facts;
  std::string commit;
  std::string date;  // "2026-11-30"
  std::uint64_t runs = 0;
  std::vector<WorkResult> works;
  std::vector<LinearResult> linear;
  std::vector<std::string> baseline_notes;  // why columns are missing

  // Works and lines that have met their must, and that have not.
  std::size_t passed() const;
  std::size_t failed() const;
};

WorkResult JudgeWork(const RooflineWork& work, const MachineFacts& facts,
                     const StatusOr<ByPath<TimedRuns>>& times);
LinearResult JudgeLinear(const LinearLine& line, const MachineFacts& facts,
                         const StatusOr<ByPath<double>>& seconds);

// In the order of kLinearGoals; classes without a line are left out.
std::vector<LinearSummary> Summarise(const std::vector<LinearResult>& linear);

// kExitMismatch if a must is missed or a check has failed; kExitError if the machine lacks
// something (UNAVAILABLE, RESOURCE_EXHAUSTED), whatever else.
ExitCode ExitCodeOf(const RooflineReport& report);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_BENCH_ROOFLINE_REPORT_H_
