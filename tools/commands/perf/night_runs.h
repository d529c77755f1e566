// The runs of one night and environment, as `draftmark perf nightly` judges them.
//
// Sentinels (statistics page, "Nightly") are the time of a copy on the device, and that of a large
// BF16 product by cuBLASLt for cases that are bound by arithmetic: those whose share of the
// product's FLOPs per second is above that of the copy's bytes per second in the same night.
//
//   NightRuns runs;
//   for (const RunRecord& run : records) runs.Add(run);
//   runs.cases().at({"draft/a", 1}).runs;   // one value for each run that can be used
#ifndef DRAFTMARK_TOOLS_COMMANDS_PERF_NIGHT_RUNS_H_
#define DRAFTMARK_TOOLS_COMMANDS_PERF_NIGHT_RUNS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/perf/history/history_reader.h"
#include "src/perf/history/record.h"
#include "src/perf/nightly.h"

namespace draftmark {

using CaseKey = std::pair<std::string, std::int64_t>;  // case id, schema

class NightRuns {
 public:
  void Add(const RunRecord& run);

  // With the day still to be filled in.
  const std::map<CaseKey, Tonight>& cases() const { return cases_; }
  // Seconds for a byte copied on the device and for an operation of the product, medians of the
  // runs; 0 where none says it.
  double copy() const;
  double gemm() const;
  // Whether arithmetic bounds the case; false where that is not known.
  bool IsArithmetic(const CaseKey& key) const;
  // The largest of the runs, by counter.
  const std::map<CaseKey, std::map<std::string, std::int64_t>>& counts() const { return counts_; }
  std::int64_t newest() const { return newest_; }
  const std::string& commit() const { return commit_; }

 private:
  std::map<CaseKey, Tonight> cases_;
  std::map<CaseKey, std::pair<double, double>> rates_;  // bytes and FLOPs per second
  std::map<CaseKey, std::map<std::string, std::int64_t>> counts_;
  std::vector<double> copies_, gemms_;
  std::int64_t newest_ = 0;
  std::string commit_;
};

// Tonight and all before it, of one environment.
struct EnvironmentNights {
  EnvironmentId id = 0;
  Environment environment = {};
  NightRuns tonight = {};
  std::vector<std::string> run_ids = {};      // tonight's
  std::map<CaseKey, CaseNights> before = {};  // of the cases of tonight, and of others
  std::map<CaseKey, std::string> units = {};  // in which people read its times
  Sentinel copy = {}, gemm = {};              // with tonight's; empty where tonight has none
  std::map<CaseKey, SeriesId> series = {};

  // What the case is divided by: "copy", "gemm" or "none".
  std::string SentinelOf(const CaseKey& key) const;
  // Cases of each of the kSteadyNights nights before `night` that tonight does not have.
  std::vector<CaseKey> GoneIn(Day night) const;
};

// What was measured so often before is expected tonight; once, it may have been by hand.
inline constexpr std::size_t kSteadyNights = 3;

// The newest night that has runs. NOT_FOUND: no runs.
StatusOr<Day> NewestNight(HistoryReader& reader, const std::string& architecture);

// Of every environment that has runs in that night.
StatusOr<std::vector<EnvironmentNights>> ReadNights(HistoryReader& reader,
                                                    const std::string& architecture, Day night,
                                                    bool with_sentinel);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_PERF_NIGHT_RUNS_H_
