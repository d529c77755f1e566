#include "src/base/clock.h"

namespace draftmark {
namespace {

class SystemClock : public Clock {
 public:
  std::chrono::year_month_day Today() const override {
    return std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  }
};

}  // namespace

const Clock& RealClock() {
  static const SystemClock clock;
  return clock;
}

}  // namespace draftmark
