// FakeClock: a clock that shows the day a test gives it.
#ifndef DRAFTMARK_SRC_BASE_FAKE_CLOCK_H_
#define DRAFTMARK_SRC_BASE_FAKE_CLOCK_H_

#include "src/base/clock.h"

namespace draftmark {

class FakeClock : public Clock {
 public:
  FakeClock(int year, unsigned month, unsigned day)
      : today_(std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)) {}
  std::chrono::year_month_day Today() const override { return today_; }

 private:
  std::chrono::year_month_day today_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_FAKE_CLOCK_H_
