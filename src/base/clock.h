// What day it is, behind a small interface, so that rules with dates can be tested on any day.
//
//   Status CheckExpiry(const Clock& clock) { if (clock.Today() > expires) ... }
#ifndef DRAFTMARK_SRC_BASE_CLOCK_H_
#define DRAFTMARK_SRC_BASE_CLOCK_H_

#include <chrono>

namespace draftmark {

// Implementations are thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // In UTC: a date must mean the same day to every machine that judges by it.
  virtual std::chrono::year_month_day Today() const = 0;
};

// The operating system's. One object for the process, without state.
const Clock& RealClock();

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_CLOCK_H_
