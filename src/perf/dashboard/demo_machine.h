// What demo_history.h measures on: testbeds and cases with times that can be drawn for any night.
#ifndef DRAFTMARK_SRC_PERF_DASHBOARD_DEMO_MACHINE_H_
#define DRAFTMARK_SRC_PERF_DASHBOARD_DEMO_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/perf/dashboard/demo_history.h"
#include "src/perf/history/record.h"

namespace draftmark {

struct DemoTestbed {
  Environment environment;        // in the first nights
  std::string newer_driver = {};  // from kDemoDriverNight on; empty: the same
  double copy_bandwidth = 0;      // bytes per second
  double noise = 0;               // standard deviation of a night, a share
};
const std::vector<DemoTestbed>& DemoTestbeds();

struct DemoCase {
  std::string id;
  double bytes = 0;
  double flops = 0;
  double floor_share = 0;  // before any step
};
// Operations and drafts, in turn.
std::vector<DemoCase> DemoCases(std::size_t count);

// In shares of all nights: where the driver changes.
inline constexpr double kDemoDriverChange = 0.7;

class DemoMachine {
 public:
  explicit DemoMachine(const DemoOptions& options) : options_(options) {}

  std::int64_t TimeOf(std::size_t night) const;
  std::string CommitOf(std::size_t night) const;
  Environment EnvironmentOf(const DemoTestbed& testbed, std::size_t night) const;
  // The level of a case on a night over its first level: steps that its seed decides on.
  double LevelOf(std::size_t testbed, std::size_t at_case, std::size_t night) const;
  // Seconds of run `number`.
  double SecondsOf(std::size_t testbed, const DemoCase& demo_case, std::size_t at_case,
                   std::size_t night, std::size_t number) const;
  // Of a standard normal distribution.
  double Normal(std::uint64_t stream, std::uint64_t index) const;

 private:
  DemoOptions options_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_DASHBOARD_DEMO_MACHINE_H_
