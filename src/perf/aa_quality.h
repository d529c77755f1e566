// What comparisons of a build with itself say of a machine: how often the gate is wrong there, and
// what it could find.
//
//   AaTally tally;
//   tally.Add(gate_result);                   // of a gate whose base and new are the same
//   tally.cases().at("draft/a").spread();     // FloorOf (verdict.h) makes the case's floor of it
//   IsNoisy(tally.total());                   // then the gate is advisory there
//
// A false alarm is a case that a first verdict, second look included, calls slower, whether or not
// fresh runs then confirm it: both are counted. Comparisons without a verdict (invalid) are not
// counted. Source: spec/statistics.md, "Targets". One thread.
#ifndef DRAFTMARK_SRC_PERF_AA_QUALITY_H_
#define DRAFTMARK_SRC_PERF_AA_QUALITY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/perf/gate.h"

namespace draftmark {

inline constexpr double kMostAlarmsPerThousand = 2;  // over kAaDays
inline constexpr std::int64_t kAaDays = 30;
// Of fewer comparisons the ratios themselves tell their spread too badly.
inline constexpr std::size_t kFewestAaRatios = 10;

struct AaCounts {
  std::int64_t comparisons = 0;  // with a verdict
  std::int64_t alarms = 0;       // slower by the first verdict
  std::int64_t confirmed = 0;    // of these, by fresh runs
  std::int64_t faster = 0;
  std::int64_t unclear = 0;
  std::int64_t invalid = 0;  // without a verdict

  double PerThousand() const;  // alarms; 0 without comparisons
};

bool IsNoisy(const AaCounts& counts);

struct AaCase {
  AaCounts counts = {};
  std::vector<double> ratios = {};
  std::vector<double> errors = {};      // of these, as their runs' spread tells
  std::vector<double> detectable = {};  // shifts that each comparison finds with 95 % power

  // False where no comparison has a verdict: nothing is known of the case then, least of all that
  // it is quiet, and spread() and detectable_shift() are 0.
  bool known() const { return !ratios.empty(); }
  // Standard deviation of an A/A ratio, a share: of the ratios seen where there are
  // kFewestAaRatios, else the median of what the spread of runs makes expect. 0 without any.
  double spread() const;
  // The median; 0 without any.
  double detectable_shift() const;
};

class AaTally {
 public:
  void Add(const GateResult& result);
  const std::map<std::string, AaCase>& cases() const { return cases_; }
  AaCounts total() const;

 private:
  std::map<std::string, AaCase> cases_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_AA_QUALITY_H_
