// Invented measurements for tests of a roofline.
#ifndef DRAFTMARK_TOOLS_COMMANDS_BENCH_ROOFLINE_TESTING_H_
#define DRAFTMARK_TOOLS_COMMANDS_BENCH_ROOFLINE_TESTING_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/draft_cost.h"
#include "tools/commands/bench/roofline_report.h"

namespace draftmark {

// Copies at 4 TB/s, memory at 5.
inline MachineFacts FakeFacts() {
  return {.gpu = "NVIDIA Fake (sm_90)",
          .driver = "580.1",
          .cuda = "13.0",
          .cublaslt = "13.1.0",
          .copy_bytes_per_second = 4e12,
          .theoretical_bytes_per_second = 5e12};
}

inline TimedRuns FakeRuns(double median_ms) {
  return {.median_ms = median_ms,
          .min_ms = median_ms * 0.99,
          .p90_ms = median_ms * 1.05,
          .queued_ms = median_ms * 0.995};
}

// As many times as long as the floor.
inline double FloorTimes(const DraftCase& draft, double ratio) {
  return static_cast<double>(FloorBytes(draft.config, draft.shape).total()) / 4e12 * 1e3 * ratio;
}
inline double SecondsOfShare(const LinearShape& shape, double share) {
  return static_cast<double>(shape.bytes()) / 4e12 / share;
}

inline BaselineTimes FakeBaseline(double best_ms) {
  return {.torch = "2.11.0",
          .columns = {{"eager", 4 * best_ms, ""},
                      {"graph", best_ms, ""},
                      {"compile_graph", 0, "failed: InductorError"}}};
}

// Answers by functions; drafts take twice their floor on the simple path and 1.05 of it on the fast
// one, linear layers have shares of 0.5 and 0.95.
class FakeMachine : public RooflineMachine {
 public:
  const MachineFacts& facts() const override { return machine_facts; }
  StatusOr<ByPath<TimedRuns>> TimeDraft(const DraftCase& draft, std::uint64_t runs) override {
    timed.push_back(draft.id + " " + std::to_string(runs));
    return time_draft(draft);
  }
  StatusOr<ByPath<double>> TimeLinear(const LinearShape& shape, std::uint64_t rows) override {
    timed.push_back(shape.Id(rows));
    return time_linear(shape, rows);
  }

  MachineFacts machine_facts = FakeFacts();
  std::vector<std::string> timed;  // in this order
  std::function<StatusOr<ByPath<TimedRuns>>(const DraftCase&)> time_draft =
      [](const DraftCase& draft) {
        return ByPath<TimedRuns>{.simple = FakeRuns(FloorTimes(draft, 2)),
                                 .fast = FakeRuns(FloorTimes(draft, 1.05))};
      };
  std::function<StatusOr<ByPath<double>>(const LinearShape&, std::uint64_t)> time_linear =
      [](const LinearShape& shape, std::uint64_t) {
        return ByPath<double>{.simple = SecondsOfShare(shape, 0.5),
                              .fast = SecondsOfShare(shape, 0.95)};
      };
};

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_BENCH_ROOFLINE_TESTING_H_
