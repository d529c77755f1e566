#include "benchmarks/replay/clock_reading.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "src/perf/run_value.h"

namespace draftmark {

std::optional<double> ClockHertz(std::span<const ClockReading> before,
                                 std::span<const ClockReading> behind) {
  std::vector<double> hertz;
  for (std::size_t i = 0; i < std::min(before.size(), behind.size()); ++i) {
    const ClockReading& a = before[i];
    const ClockReading& b = behind[i];
    if (a.nanoseconds == 0 || b.nanoseconds < a.nanoseconds + kLeastReadingNs) continue;
    if (b.cycles <= a.cycles) continue;
    hertz.push_back(1e9 * static_cast<double>(b.cycles - a.cycles) /
                    static_cast<double>(b.nanoseconds - a.nanoseconds));
  }
  if (hertz.empty()) return std::nullopt;
  return Median(std::move(hertz));
}

}  // namespace draftmark
