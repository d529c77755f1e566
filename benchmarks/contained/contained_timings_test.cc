#include "benchmarks/contained/contained_timings.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "benchmarks/report_run.h"
#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_data.h"
#include "src/base/test_folder.h"
#include "src/perf/google_benchmark.h"

namespace draftmark {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class ContainedTimingsTest : public ::testing::Test {
 protected:
  ContainedOptions Options(const std::string& how = "") const {
    return {.command = {TestData("benchmarks/contained/fake_timing_service"), how, log_},
            .subject = "./libfake.so"};
  }
  void Open(ContainedOptions options) {
    DM_ASSERT_OK_AND_ASSIGN(timings_, ContainedTimings::Open(std::move(options)));
  }
  void Open() { Open(Options()); }

  // Three samples and no warm-up.
  static StatusOr<SampledRun> Take(TimedWork& work) {
    UnknownGpuMonitor monitor;
    return TakeSamples(work, monitor, ProcessWatch(), {.samples = 3, .warm_ups = 0});
  }
  StatusOr<ContainedRun> Measure(const std::string& id, const std::string& group = "group") {
    return timings_->Measure({id, group}, Take);
  }
  std::string FailureOf(const std::string& id, const std::string& group = "group") {
    const StatusOr<ContainedRun> run = Measure(id, group);
    return run.ok() ? "" : run.status().message();
  }
  std::size_t Processes() const {
    const std::string text = ReadTextFile(log_).value();
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  TestFolder folder_;
  const std::string log_ = folder_.Path("processes");
  std::unique_ptr<ContainedTimings> timings_;
};

TEST_F(ContainedTimingsTest, NumbersArriveAsTheyAre) {
  Open();
  EXPECT_EQ(timings_->description(), "a fake");
  EXPECT_TRUE(timings_->Supports({"right", "group"}).value());
  EXPECT_FALSE(timings_->Supports({"unsupported", "group"}).value());
  DM_ASSERT_OK_AND_ASSIGN(const ContainedRun run, Measure("right"));
  EXPECT_EQ(run.facts, (TimedFacts{.bytes = 1000,
                                   .flops = 2000.5,
                                   .least_seconds = 0,
                                   .kernels = 3,
                                   .peak_bytes = 4,
                                   .reuse_bytes = 5,
                                   .launches = 6,
                                   .judged = true}));
  ASSERT_EQ(run.run.raw.size(), 3u);
  EXPECT_EQ(run.run.raw[2].seconds, 1e-6 * 3);
  EXPECT_EQ(run.run.clock_hz, 1.5e9);
  DM_ASSERT_OK_AND_ASSIGN(const ContainedRun unclocked, Measure("no clock"));
  EXPECT_EQ(unclocked.run.clock_hz, std::nullopt);
  EXPECT_EQ(Processes(), 1u);
}

// Each of them with the same words when it happens in the middle of the samples.
TEST_F(ContainedTimingsTest, WhatEndsTheProcessIsToldAndTheRestGoesOn) {
  for (const char* const when : {"", "@1"}) {
    Open();
    EXPECT_EQ(FailureOf(std::string("crash") + when),
              "./libfake.so crashed: signal 11 (Segmentation fault)");
    EXPECT_EQ(FailureOf(std::string("exit") + when),
              "./libfake.so ended its process with exit code 0; printed last: bye");
    EXPECT_THAT(FailureOf(std::string("throw") + when),
                StartsWith("./libfake.so crashed: signal 6 (Aborted)"));
    EXPECT_THAT(Measure("right").status(), IsOk());
    EXPECT_THAT(timings_->late_failures(), IsEmpty());
  }
}

TEST_F(ContainedTimingsTest, WhatHangsIsEndedAndAThirdOfItsGroupIsNotRun) {
  ContainedOptions options = Options();
  options.seconds = 3;  // also for those that answer, on a busy machine
  Open(options);
  EXPECT_THAT(Measure("right").status(), IsOk());
  EXPECT_EQ(FailureOf("hang", "slow"), "./libfake.so did not return within 3 s");
  EXPECT_THAT(Measure("right", "slow").status(), IsOk());
  EXPECT_EQ(FailureOf("hang@2", "slow"), "./libfake.so did not return within 3 s");
  EXPECT_EQ(FailureOf("right", "slow"),
            "./libfake.so: was not run: 2 shapes of slow did not return");
  EXPECT_EQ(timings_->Supports({"right", "slow"}).status().message(),
            "./libfake.so: was not run: 2 shapes of slow did not return");
  EXPECT_THAT(Measure("right", "other").status(), IsOk());
  // A hang costs its time once.
  EXPECT_EQ(Processes(), 3u);
}

TEST_F(ContainedTimingsTest, AFailureIsItsMessageAndTheNextWorkHasAFreshProcess) {
  Open();
  EXPECT_EQ(FailureOf("fail"), "wrong bits");
  EXPECT_EQ(Processes(), 1u);
  EXPECT_EQ(FailureOf("fail@2"), "wrong bits");
  EXPECT_EQ(Processes(), 2u);
  EXPECT_THAT(Measure("right").status(), IsOk());
  EXPECT_EQ(Processes(), 3u);
}

TEST_F(ContainedTimingsTest, WhatCannotBeTimedIsNoReasonForAFreshProcess) {
  Open();
  EXPECT_THAT(Measure("unsupported").status(),
              StatusIs(StatusCode::kUnimplemented, "not this one"));
  EXPECT_THAT(FailureOf("too fast"), HasSubstr("is below the"));
  EXPECT_THAT(Measure("right").status(), IsOk());
  EXPECT_EQ(Processes(), 1u);
}

TEST_F(ContainedTimingsTest, AQueryMayDieAsWell) {
  Open();
  EXPECT_EQ(timings_->Supports({"query-crash", "group"}).status().message(),
            "./libfake.so crashed: signal 11 (Segmentation fault) when asked what it supports");
  EXPECT_TRUE(timings_->Supports({"right", "group"}).value());
}

// What comes from a process that others write in is not taken for an answer.
TEST_F(ContainedTimingsTest, AnswersToSomethingElseAreNone) {
  for (const char* const id : {"late answer", "short answer"}) {
    Open();
    EXPECT_EQ(timings_->Supports({id, "group"}).status().message(),
              "./libfake.so broke its connection")
        << id;
    EXPECT_THAT(Measure("right").status(), IsOk());
  }
}

// What crashes behind another work is tried alone; so is what answers that it failed.
TEST_F(ContainedTimingsTest, NobodyPaysForAnotherWork) {
  Open();
  EXPECT_THAT(Measure("leaves-crash").status(), IsOk());
  EXPECT_THAT(Measure("right").status(), IsOk());
  EXPECT_THAT(
      timings_->late_failures(),
      ElementsAre("./libfake.so crashed: signal 11 (Segmentation fault), in right, which is "
                  "measured in a process of its own: what had run before it, last "
                  "leaves-crash, is to blame"));
  EXPECT_THAT(Measure("leaves-fail").status(), IsOk());
  EXPECT_THAT(Measure("right").status(), IsOk());
  ASSERT_EQ(timings_->late_failures().size(), 2u);
  EXPECT_THAT(timings_->late_failures()[1], StartsWith("wrong bits, in right, which"));
  // Who fails alone as well is to blame.
  EXPECT_EQ(FailureOf("crash"), "./libfake.so crashed: signal 11 (Segmentation fault)");
  EXPECT_EQ(timings_->late_failures().size(), 2u);
}

// The same work again is no other one.
TEST_F(ContainedTimingsTest, ARepetitionIsNoOtherWork) {
  Open();
  EXPECT_THAT(Measure("leaves-crash").status(), IsOk());
  EXPECT_THAT(FailureOf("leaves-crash"), StartsWith("./libfake.so crashed"));
  EXPECT_EQ(Processes(), 1u);
  EXPECT_THAT(timings_->late_failures(), IsEmpty());
}

TEST_F(ContainedTimingsTest, WhatCannotBeLoadedIsAnError) {
  EXPECT_THAT(ContainedTimings::Open(Options("fail")).status(),
              StatusIs(StatusCode::kInternal, "wrong bits"));
  EXPECT_THAT(ContainedTimings::Open(Options("crash")).status(),
              StatusIs(StatusCode::kInternal,
                       "./libfake.so crashed: signal 11 (Segmentation fault) "
                       "while it was loaded"));
  ContainedOptions slow = Options("hang");
  slow.load_seconds = 0.3;
  EXPECT_THAT(ContainedTimings::Open(slow).status(),
              StatusIs(StatusCode::kInternal,
                       "./libfake.so did not return within 0.3 s while it was loaded"));
}

TEST_F(ContainedTimingsTest, TellsWhenAProcessStarts) {
  std::vector<std::string> calls;
  pid_t id = 0;
  ContainedOptions options = Options();
  options.starts = [&] { calls.push_back("starts"); };
  options.started = [&](pid_t process) {
    calls.push_back(process > 0 && process != id ? "another" : "?");
    id = process;
  };
  Open(options);
  (void)Measure("crash");
  (void)Measure("right");
  EXPECT_THAT(calls, ElementsAre("starts", "another", "starts", "another"));
}

// As an entry of a report, beside entries of others.
TEST_F(ContainedTimingsTest, TheReportHasTheRestWithItsNumbers) {
  Open();
  benchmark::ClearRegisteredBenchmarks();
  for (const char* const id : {"right", "crash@1", "exit", "also right", "fail@0"}) {
    benchmark::RegisterBenchmark(
        id,
        [this, id](benchmark::State& state) {
          const StatusOr<ContainedRun> measured = Measure(id);
          ReportRun(measured.ok() ? StatusOr<SampledRun>(measured->run) : measured.status(), {},
                    state);
        })
        ->UseManualTime()
        ->Iterations(1);
  }
  std::ostringstream out;
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&out);
  reporter.SetErrorStream(&out);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  DM_ASSERT_OK_AND_ASSIGN(const BenchmarkReport report, ParseGoogleBenchmark(out.str(), "report"));
  ASSERT_EQ(report.cases.size(), 5u);
  EXPECT_EQ(report.cases[0].failure, "");
  EXPECT_EQ(report.cases[0].seconds.size(), 1u);
  EXPECT_EQ(report.cases[1].failure,
            "failed in report: ./libfake.so crashed: signal 11 (Segmentation fault)");
  EXPECT_THAT(report.cases[2].failure, HasSubstr("ended its process with exit code 0"));
  EXPECT_EQ(report.cases[3].failure, "");
  EXPECT_EQ(report.cases[3].seconds.size(), 1u);
  EXPECT_THAT(report.cases[4].failure, HasSubstr("wrong bits"));
}

}  // namespace
}  // namespace draftmark
