#include "src/perf/dashboard/demo_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "src/base/counter_hash.h"
#include "src/perf/dashboard/demo_machine.h"
#include "src/perf/dashboard/demo_records.h"
#include "src/perf/history/utc_time.h"
#include "src/perf/run_value.h"

namespace draftmark {
namespace {

constexpr std::size_t kFewestCases = 8;
constexpr std::size_t kFewestNights = 12;
constexpr std::size_t kRuns = 3;  // a night
constexpr std::size_t kWholeNights =
    8;  // whose runs are kept; older ones are as retention leaves them

class Writer {
 public:
  Writer(const DemoOptions& options, History& history)
      : options_(options), machine_(options), cases_(DemoCases(options.cases)), history_(history) {}

  Status Write() {
    for (std::size_t testbed = 0; testbed < DemoTestbeds().size(); ++testbed) {
      for (std::size_t night = 0; night < options_.nights; ++night) {
        DM_RETURN_IF_ERROR(WriteNight(testbed, night));
      }
      DM_RETURN_IF_ERROR(Add(DemoGate(options_, machine_, cases_, testbed)));
      DM_RETURN_IF_ERROR(Add(DemoAa(options_, machine_, cases_, testbed)));
      DM_RETURN_IF_ERROR(Add(DemoConformance(options_, machine_, testbed)));
    }
    for (HistoryRecord& record : DemoCounts(options_, machine_)) DM_RETURN_IF_ERROR(Add(record));
    for (HistoryRecord& record : DemoReleases(options_, machine_)) DM_RETURN_IF_ERROR(Add(record));
    return OkStatus();
  }

 private:
  Status Add(const HistoryRecord& record) { return history_.Add(record).status(); }

  Status WriteNight(std::size_t testbed, std::size_t night) {
    // A night in 40 was not measured.
    if (night % 40 == 17 && night + 1 < options_.nights) return OkStatus();
    if (night + kWholeNights < options_.nights) return Add(NightOfRuns(testbed, night));
    for (std::size_t number = 0; number < kRuns; ++number) {
      DM_RETURN_IF_ERROR(Add(Run(testbed, night, number)));
    }
    return OkStatus();
  }

  RunRecord Run(std::size_t testbed, std::size_t night, std::size_t number) const {
    const DemoTestbed& bed = DemoTestbeds()[testbed];
    RunRecord run{.time = machine_.TimeOf(night) + static_cast<std::int64_t>(number) * 600};
    run.night = NightOf(machine_.TimeOf(night));
    run.commit = machine_.CommitOf(night);
    run.environment = machine_.EnvironmentOf(bed, night);
    run.program = "operations_benchmark";
    run.session = fmt::format("night {}", run.night);
    run.number = static_cast<std::int64_t>(number);
    run.command = "draftmark perf nightly";
    run.context = {{"sm_clock_mhz", testbed == 0 ? "1980" : "2430"}, {"memory_clock_mhz", "3201"}};
    // One night of the last testbed was disturbed, so that nothing of it counts.
    if (testbed == 2 && night + 4 == options_.nights) {
      run.valid = false;
      run.reason = "9 of 30 samples are void: another process on the GPU";
    }
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const DemoCase& one = cases_[i];
      const double seconds = machine_.SecondsOf(testbed, one, i, night, number);
      Point point{.case_id = one.id, .seconds = seconds, .median = seconds * 1.0006};
      point.samples = 30;
      point.unit = seconds < 1e-3 ? "us" : "ms";
      point.reproduce = DemoReproduce(one.id);
      point.bytes_per_second = one.bytes / seconds;
      if (one.flops > 0) point.flops_per_second = one.flops / seconds;
      point.copy_share = one.bytes / seconds / bed.copy_bandwidth;
      point.floor_share = *point.copy_share;
      run.points.push_back(std::move(point));
    }
    return run;
  }

  NightRecord NightOfRuns(std::size_t testbed, std::size_t night) const {
    const DemoTestbed& bed = DemoTestbeds()[testbed];
    NightRecord record{.time = machine_.TimeOf(night) + 600 * static_cast<std::int64_t>(kRuns - 1)};
    record.night = NightOf(machine_.TimeOf(night));
    record.environment = machine_.EnvironmentOf(bed, night);
    record.commit = machine_.CommitOf(night);
    for (std::size_t number = 0; number < kRuns; ++number) {
      record.replaces.push_back(
          fmt::format("{:016x}", BitsAt(options_.seed, (testbed * 100000 + night) * 8 + number)));
    }
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      std::vector<double> values;
      for (std::size_t number = 0; number < kRuns; ++number) {
        values.push_back(machine_.SecondsOf(testbed, cases_[i], i, night, number));
      }
      NightPoint point{.case_id = cases_[i].id, .seconds = Median(values)};
      point.low = *std::min_element(values.begin(), values.end());
      point.high = *std::max_element(values.begin(), values.end());
      point.runs = kRuns;
      point.samples = 30 * static_cast<std::int64_t>(kRuns);
      point.unit = *point.seconds < 1e-3 ? "us" : "ms";
      point.floor_share = cases_[i].bytes / *point.seconds / bed.copy_bandwidth;
      record.points.push_back(std::move(point));
    }
    return record;
  }

  const DemoOptions& options_;
  DemoMachine machine_;
  std::vector<DemoCase> cases_;
  History& history_;
};

}  // namespace

Status WriteDemoHistory(const DemoOptions& options, History& history) {
  if (options.cases < kFewestCases || options.nights < kFewestNights) {
    return InvalidArgumentError(
        fmt::format("demo: expected at least {} cases and {} nights, found {} and {}", kFewestCases,
                    kFewestNights, options.cases, options.nights));
  }
  const std::int64_t room = options.last_night / 86400;
  if (room < static_cast<std::int64_t>(options.nights) || options.last_night > kLatestTime) {
    return InvalidArgumentError(fmt::format("demo: expected {} nights between 1970 and {}",
                                            options.nights, options.last_night));
  }
  return Writer(options, history).Write();
}

}  // namespace draftmark
