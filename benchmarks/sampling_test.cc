#include "benchmarks/sampling.h"

#include <functional>

#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

// Calls are numbered from 0, warm-ups included.
class FakeWork : public TimedWork {
 public:
  StatusOr<TimedSample> Run() override { return sample(calls++); }
  double LeastSeconds() const override { return least; }

  std::size_t calls = 0;
  double least = 0;
  std::function<StatusOr<TimedSample>(std::size_t)> sample = [](std::size_t) {
    return TimedSample{.seconds = 1e-3, .clock_hz = 2e9};
  };
};

class FakeMonitor : public GpuMonitor {
 public:
  GpuState Quick() override { return quick(quicks++); }
  GpuState Full() override { return full(fulls++); }

  std::size_t quicks = 0;
  std::size_t fulls = 0;
  std::function<GpuState(std::size_t)> quick = [](std::size_t) { return GpuState{}; };
  std::function<GpuState(std::size_t)> full = [](std::size_t) { return GpuState{}; };
};

class Sampling : public ::testing::Test {
 protected:
  StatusOr<SampledRun> Take(const SamplingOptions& options = {}) {
    return TakeSamples(work_, monitor_, watch_, options);
  }
  static GpuState WithProcesses(std::vector<std::uint64_t> ids) {
    GpuState state;
    state.processes = std::move(ids);
    return state;
  }

  FakeWork work_;
  FakeMonitor monitor_;
  ProcessWatch watch_{WithProcesses({}), WithProcesses({1}), 1};
};

TEST_F(Sampling, WarmUpsAreNoSamples) {
  work_.sample = [](std::size_t call) {
    return TimedSample{.seconds = call < 5 ? 9.0 : 1e-3, .clock_hz = call < 5 ? 1e9 : 2e9};
  };
  DM_ASSERT_OK_AND_ASSIGN(const SampledRun run, Take());
  EXPECT_EQ(work_.calls, 35u);
  EXPECT_EQ(run.invalid, "");
  EXPECT_DOUBLE_EQ(run.seconds, 1e-3);
  EXPECT_EQ(run.counts.samples, 30u);
  EXPECT_EQ(run.counts.voided, 0u);
  EXPECT_EQ(run.clock_hz, 2e9);
  EXPECT_NEAR(run.variation, 0, 1e-12);
  EXPECT_EQ(monitor_.quicks, 6u);
  EXPECT_EQ(monitor_.fulls, 2u);
}

TEST_F(Sampling, EverySampleIsKeptWithWhatVoidsIt) {
  work_.sample = [](std::size_t call) {
    return TimedSample{.seconds = static_cast<double>(call + 1),
                       .clock_hz = call == 3 ? 1.5e9 : 2e9};
  };
  DM_ASSERT_OK_AND_ASSIGN(const SampledRun run, Take({.samples = 10, .warm_ups = 1}));
  ASSERT_EQ(run.raw.size(), 11u);  // one was void and is made up for
  for (std::size_t i = 0; i < run.raw.size(); ++i) {
    EXPECT_EQ(run.raw[i].seconds, static_cast<double>(i + 2));
    EXPECT_EQ(run.raw[i].voided, SampleVoid{.clock = i == 2}) << i;
  }
  // Also of a run without a number.
  work_.calls = 0;
  work_.sample = [](std::size_t call) {
    return TimedSample{.seconds = 1, .clock_hz = call % 2 == 0 ? 1.5e9 : 2e9};
  };
  DM_ASSERT_OK_AND_ASSIGN(const SampledRun invalid, Take({.samples = 10, .warm_ups = 0}));
  EXPECT_NE(invalid.invalid, "");
  EXPECT_EQ(invalid.raw.size(), invalid.counts.samples);
}

// 1 to 10: the fastest and the two slowest are dropped.
TEST_F(Sampling, TheValueIsTheTrimmedMeanAndTheRestIsBesideIt) {
  work_.sample = [](std::size_t call) {
    return TimedSample{.seconds = static_cast<double>(call % 10 + 1), .clock_hz = std::nullopt};
  };
  DM_ASSERT_OK_AND_ASSIGN(const SampledRun run, Take({.samples = 10, .warm_ups = 0}));
  EXPECT_DOUBLE_EQ(run.seconds, 5);
  EXPECT_DOUBLE_EQ(run.median, 5.5);
  EXPECT_DOUBLE_EQ(run.least, 1);
  EXPECT_DOUBLE_EQ(run.p90, 9);
  EXPECT_NEAR(run.variation, 3.02765 / 5.5, 1e-5);
  EXPECT_EQ(run.clock_hz, std::nullopt);
}

TEST_F(Sampling, WithoutCountersTheClockIsNvmls) {
  work_.sample = [](std::size_t) { return TimedSample{.seconds = 1, .clock_hz = std::nullopt}; };
  monitor_.quick = [](std::size_t) { return GpuState{.sm_clock_hz = 1.98e9}; };
  DM_ASSERT_OK_AND_ASSIGN(const SampledRun run, Take());
  EXPECT_EQ(run.clock_hz, 1.98e9);
}

// The third reading has a reason: five samples are void, and five more are taken. Their times are
// in no number.
TEST_F(Sampling, VoidSamplesAreTakenAgain) {
  monitor_.quick = [](std::size_t reading) {
    GpuState state;
    state.throttle_reasons = reading == 2 ? 0x8u : kReasonApplicationClocks;
    return state;
  };
  work_.sample = [](std::size_t call) {
    return TimedSample{.seconds = call >= 10 && call < 15 ? 50.0 : 1.0, .clock_hz = std::nullopt};
  };
  DM_ASSERT_OK_AND_ASSIGN(const SampledRun run, Take({.samples = 30, .warm_ups = 0}));
  EXPECT_EQ(run.invalid, "");
  EXPECT_EQ(work_.calls, 35u);
  EXPECT_EQ(run.counts.samples, 35u);
  EXPECT_EQ(run.counts.voided, 5u);
  EXPECT_EQ(run.counts.throttle, 5u);
  EXPECT_EQ(run.throttle_reasons, 0x8u | kReasonApplicationClocks);
  EXPECT_DOUBLE_EQ(run.seconds, 1);
  EXPECT_DOUBLE_EQ(run.p90, 1);
  EXPECT_NEAR(run.variation, 0, 1e-12);
}

TEST_F(Sampling, TooManyVoidSamplesLeaveNoNumberAndEnd) {
  monitor_.quick = [](std::size_t) { return GpuState{.throttle_reasons = 0x4u}; };
  DM_ASSERT_OK_AND_ASSIGN(const SampledRun run, Take());
  EXPECT_EQ(run.invalid,
            "10 of 10 samples are void (throttle 10); throttle reasons: software power cap");
  EXPECT_EQ(run.seconds, 0);
  EXPECT_EQ(run.clock_hz, std::nullopt);
}

TEST_F(Sampling, AMovedClockVoidsItsSample) {
  work_.sample = [](std::size_t call) {
    return TimedSample{.seconds = 1, .clock_hz = call % 10 == 9 ? 1.9e9 : 2e9};
  };
  DM_ASSERT_OK_AND_ASSIGN(const SampledRun run, Take({.samples = 30, .warm_ups = 0}));
  EXPECT_EQ(run.invalid, "");
  EXPECT_EQ(run.counts.samples, 33u);
  EXPECT_EQ(run.counts.clock, 3u);
  EXPECT_EQ(run.clock_hz, 2e9);
}

TEST_F(Sampling, AnotherProcessAtEitherEndVoidsAll) {
  for (const std::size_t at : {0u, 1u}) {
    monitor_.fulls = 0;
    monitor_.full = [&](std::size_t reading) {
      return reading == at ? WithProcesses({1, 77}) : WithProcesses({1});
    };
    DM_ASSERT_OK_AND_ASSIGN(const SampledRun run, Take());
    EXPECT_EQ(run.invalid, "30 of 30 samples are void (other processes 30)");
    EXPECT_EQ(run.other_processes, 1u);
  }
  monitor_.full = [&](std::size_t) { return WithProcesses({1}); };
  DM_ASSERT_OK_AND_ASSIGN(const SampledRun alone, Take());
  EXPECT_EQ(alone.invalid, "");
  EXPECT_EQ(alone.other_processes, 0u);
}

TEST_F(Sampling, EccErrorsVoidAll) {
  monitor_.full = [](std::size_t reading) { return GpuState{.ecc_errors = 3 + reading}; };
  DM_ASSERT_OK_AND_ASSIGN(const SampledRun run, Take());
  EXPECT_EQ(run.invalid, "30 of 30 samples are void (ECC 30)");
}

TEST_F(Sampling, ATimeBelowTheLimitIsAnError) {
  work_.least = 0.9e-3;
  EXPECT_THAT(Take(), IsOk());
  work_.least = 1.1e-3;
  EXPECT_THAT(Take().status(),
              StatusIs(StatusCode::kInternal,
                       HasSubstr("a sample of 1000 us is below the 1100 us in which")));
  work_.least = 0;
  work_.sample = [](std::size_t) { return TimedSample{.seconds = 0, .clock_hz = 1}; };
  EXPECT_THAT(Take().status(), StatusIs(StatusCode::kInternal, HasSubstr("a sample took 0 s")));
}

TEST_F(Sampling, TheWorksErrorsAreReturned) {
  for (const std::size_t at : {0u, 12u}) {
    work_.calls = 0;
    work_.sample = [&](std::size_t call) -> StatusOr<TimedSample> {
      if (call == at) return InternalError("wrong result");
      return TimedSample{.seconds = 1, .clock_hz = std::nullopt};
    };
    EXPECT_THAT(Take().status(), StatusIs(StatusCode::kInternal, HasSubstr("wrong result")));
  }
}

}  // namespace
}  // namespace draftmark
