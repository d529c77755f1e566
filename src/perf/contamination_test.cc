#include "src/perf/contamination.h"

#include "gtest/gtest.h"

namespace draftmark {
namespace {

GpuState Processes(std::vector<std::uint64_t> ids) {
  GpuState state;
  state.processes = std::move(ids);
  return state;
}

TEST(ThrottleText, NamesEveryReason) {
  EXPECT_EQ(ThrottleText(0), "none");
  EXPECT_EQ(ThrottleText(0x1), "idle");
  EXPECT_EQ(ThrottleText(0x4 | 0x40), "software power cap, hardware thermal slowdown");
  EXPECT_EQ(ThrottleText(0x8 | 0x4000), "hardware slowdown, 0x4000");
}

TEST(ProcessWatch, KnowsItselfByItsNumber) {
  const ProcessWatch watch(Processes({}), Processes({7, 42}), 42);
  EXPECT_EQ(watch.Others(Processes({42})), 0u);
  EXPECT_EQ(watch.Others(Processes({7, 42})), 1u);
  EXPECT_EQ(watch.Others(Processes({7, 8, 42})), 2u);
}

// In a container: number 42 here is 9001 to the driver.
TEST(ProcessWatch, KnowsItselfAsTheOneThatAppeared) {
  const ProcessWatch watch(Processes({7}), Processes({7, 9001}), 42);
  EXPECT_EQ(watch.Others(Processes({9001})), 0u);
  EXPECT_EQ(watch.Others(Processes({7, 9001})), 1u);
}

TEST(ProcessWatch, WhereItIsNotListedEveryoneIsAnother) {
  const ProcessWatch watch(Processes({7}), Processes({7}), 42);
  EXPECT_EQ(watch.Others(Processes({7})), 1u);
  EXPECT_EQ(watch.Others(Processes({})), 0u);
}

TEST(ProcessWatch, OfTwoNewcomersNoneIsTrusted) {
  const ProcessWatch watch(Processes({}), Processes({8, 9}), 42);
  EXPECT_EQ(watch.Others(Processes({8, 9})), 2u);
}

TEST(ProcessWatch, KnowsWhatItHasStarted) {
  ProcessWatch watch(Processes({7}), Processes({7, 42}), 42);
  watch.Add(Processes({7, 42}), Processes({7, 42, 43}), 43);
  EXPECT_EQ(watch.Others(Processes({42, 43})), 0u);
  EXPECT_EQ(watch.Others(Processes({7, 42, 43})), 1u);
  // In a container: as the one that appeared.
  watch.Add(Processes({42, 43}), Processes({42, 43, 9001}), 44);
  EXPECT_EQ(watch.Others(Processes({42, 43, 9001})), 0u);
  watch.Add(Processes({42}), Processes({42, 8, 9}), 45);
  EXPECT_EQ(watch.Others(Processes({42, 8, 9})), 2u);
}

TEST(ProcessWatch, UnknownStaysUnknown) {
  EXPECT_EQ(ProcessWatch(GpuState{}, GpuState{}, 42).Others(GpuState{}), std::nullopt);
  // Without a list from before, only the own number helps.
  EXPECT_EQ(ProcessWatch(GpuState{}, Processes({9}), 42).Others(Processes({9})), 1u);
  EXPECT_EQ(ProcessWatch(GpuState{}, Processes({42}), 42).Others(Processes({42})), 0u);
}

TEST(CompareStates, TakesTheWorstOfBothEnds) {
  const ProcessWatch watch(Processes({}), Processes({42}), 42);
  EXPECT_EQ(CompareStates(Processes({42, 7}), Processes({42}), watch).other_processes, 1u);
  EXPECT_EQ(CompareStates(Processes({42}), Processes({42, 7}), watch).other_processes, 1u);
  EXPECT_EQ(CompareStates(Processes({42}), Processes({42}), watch).other_processes, 0u);
  EXPECT_EQ(CompareStates({}, {}, watch).other_processes, std::nullopt);
}

TEST(CompareStates, SeesEccErrorsAndMovedMemoryClocks) {
  GpuState before, after;
  before.ecc_errors = 3;
  before.memory_clock_hz = 3.2e9;
  after = before;
  EXPECT_FALSE(CompareStates(before, after, {}).ecc_grew);
  EXPECT_FALSE(CompareStates(before, after, {}).memory_clock_moved);
  after.ecc_errors = 4;
  after.memory_clock_hz = 3.2e9 * 1.019;
  EXPECT_TRUE(CompareStates(before, after, {}).ecc_grew);
  EXPECT_FALSE(CompareStates(before, after, {}).memory_clock_moved);
  after.memory_clock_hz = 3.2e9 * 0.979;
  EXPECT_TRUE(CompareStates(before, after, {}).memory_clock_moved);
  // Unknown on one side is no change.
  EXPECT_FALSE(CompareStates({}, after, {}).ecc_grew);
  EXPECT_FALSE(CompareStates({}, after, {}).memory_clock_moved);
}

TEST(FindVoid, CleanAndUnknownSamplesCount) {
  std::vector<SampleFacts> samples(3);
  samples[0] = {.clock_hz = 1.98e9, .throttle_reasons = 0};
  samples[1] = {.clock_hz = 1.98e9 * 1.015, .throttle_reasons = kHarmlessReasons};
  for (const SampleVoid& found : FindVoid(samples, {})) EXPECT_EQ(found, SampleVoid{});
  EXPECT_TRUE(FindVoid({}, {}).empty());
}

TEST(FindVoid, EachReasonVoidsItsSample) {
  std::vector<SampleFacts> samples(5, {.clock_hz = 1e9, .throttle_reasons = 0});
  samples[1].throttle_reasons = kReasonGpuIdle | 0x4;
  samples[3].clock_hz = 1.021e9;
  samples[4].clock_hz = 0.979e9;
  const std::vector<SampleVoid> voids = FindVoid(samples, {});
  EXPECT_EQ(voids[0], SampleVoid{});
  EXPECT_EQ(voids[1], SampleVoid{.throttle = true});
  EXPECT_EQ(voids[2], SampleVoid{});
  EXPECT_EQ(voids[3], SampleVoid{.clock = true});
  EXPECT_EQ(voids[4], SampleVoid{.clock = true});
}

TEST(FindVoid, ABlockIsVoidAsAWhole) {
  const std::vector<SampleFacts> samples(2);
  for (const SampleVoid& found : FindVoid(samples, {.other_processes = 1})) {
    EXPECT_EQ(found, SampleVoid{.processes = true});
  }
  for (const SampleVoid& found : FindVoid(samples, {.memory_clock_moved = true})) {
    EXPECT_EQ(found, SampleVoid{.clock = true});
  }
  for (const SampleVoid& found : FindVoid(samples, {.ecc_grew = true})) {
    EXPECT_EQ(found, SampleVoid{.ecc = true});
  }
}

TEST(VoidCounts, AFifthIsTheLimit) {
  EXPECT_FALSE((VoidCounts{.samples = 30, .voided = 0}).TooMany());
  EXPECT_FALSE((VoidCounts{.samples = 30, .voided = 6}).TooMany());
  EXPECT_TRUE((VoidCounts{.samples = 30, .voided = 7}).TooMany());
  // Nothing is left, so there is no number.
  EXPECT_TRUE((VoidCounts{.samples = 0, .voided = 0}).TooMany());
  EXPECT_TRUE((VoidCounts{.samples = 1, .voided = 1}).TooMany());
}

TEST(VoidCounts, CountsSamplesOnceAndReasonsEach) {
  const std::vector<SampleVoid> voids = {{}, {.throttle = true, .clock = true}, {.clock = true}};
  const VoidCounts counts = CountVoid(voids);
  EXPECT_EQ(counts.samples, 3u);
  EXPECT_EQ(counts.voided, 2u);
  EXPECT_EQ(counts.throttle, 1u);
  EXPECT_EQ(counts.clock, 2u);
  EXPECT_EQ(counts.ToString(), "2 of 3 samples are void (throttle 1, clock 2)");
  EXPECT_EQ(CountVoid({}).ToString(), "0 of 0 samples are void");
}

}  // namespace
}  // namespace draftmark
