#include "src/perf/history/import_published.h"

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/base/status_matchers.h"
#include "src/perf/history/record_testing.h"
#include "src/perf/history/utc_time.h"

namespace draftmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;

constexpr char kPublished[] = R"json({"gpu": "NVIDIA H200", "driver": "580.159.04", "cuda": "13.0",
  "compute_capability": "sm_90", "commit": "abc", "date": "2026-11-30T02:24:17Z",
  "drafts": [{"id": "draft/a/nb=1", "floor_ms": 0.8, "median_ms": 1.0, "min_ms": 0.9,
              "memory": {"weights": 4586572288, "scratch": 7}}],
  "benchmark": {"rows": [{"case": "op/a/rows=1/bf16", "microseconds": 2.5,
                          "bytes_per_second": 1e12, "copy_share": 0.25, "cold": true}]},
  "benchmarks": {"drafts": {"draft/b/nb=1": {"graph_ms": 2.0, "memory_cache": 5}}},
  "conformance": {"failed": 0, "commit": "older", "date": "2026-11-29T00:00:00Z",
    "operations": {"rope": {"judged_runs": 20, "worst_used_share": 0.5}},
    "programs": {"kernels.gpu_test": {"passed": 3, "failed": 1, "skipped": 2, "seconds": 5}}}})json";

TEST(ImportPublishedTest, Everything) {
  DM_ASSERT_OK_AND_ASSIGN(const RunRecord run, ImportPublished(kPublished, "x/h.json", {}));
  EXPECT_EQ(run.commit, "abc");
  EXPECT_EQ(run.time, kTestTime);
  EXPECT_EQ(run.source, "h.json");
  EXPECT_EQ(run.environment, TestEnvironment());
  ASSERT_THAT(run.points, SizeIs(3));
  EXPECT_EQ(run.points[0].case_id, "draft/a/nb=1");
  EXPECT_DOUBLE_EQ(*run.points[0].seconds, 1e-3);
  EXPECT_DOUBLE_EQ(*run.points[0].floor_share, 0.8);
  EXPECT_THAT(run.points[0].counts,
              ElementsAre(Pair("memory_scratch", 7), Pair("memory_weights", 4586572288)));
  EXPECT_THAT(run.points[1].counts, ElementsAre(Pair("memory_cache", 5)));
  EXPECT_DOUBLE_EQ(*run.points[1].seconds, 2e-3);
  EXPECT_DOUBLE_EQ(*run.points[2].seconds, 2.5e-6);
  EXPECT_DOUBLE_EQ(*run.points[2].copy_share, 0.25);
  EXPECT_THAT(run.points[2].numbers, ElementsAre(Pair("cold", 1.0)));
  ASSERT_THAT(run.conformance, SizeIs(1));
  EXPECT_EQ(run.conformance[0].case_id, "op/rope/all/bf16");
  EXPECT_EQ(run.conformance[0].status, "PASS");
  EXPECT_DOUBLE_EQ(*run.conformance[0].used_share, 0.5);
  EXPECT_THAT(run.suites, ElementsAre(SuiteResult{"kernels.gpu_test", 3, 1, 2, ""}));
}

std::string Replaced(std::string text, const std::string& part, const std::string& instead) {
  return text.replace(text.find(part), part.size(), instead);
}

// What the file says of itself goes first, then what its measurements say, then its conformance.
TEST(ImportPublishedTest, WhereCommitAndTimeAreFound) {
  const std::string nothing =
      Replaced(kPublished, R"("commit": "abc", "date": "2026-11-30T02:24:17Z",)", "");
  DM_ASSERT_OK_AND_ASSIGN(const RunRecord checked, ImportPublished(nothing, "h.json", {}));
  EXPECT_EQ(checked.commit, "older");
  EXPECT_EQ(NightOf(checked.time), "2026-11-29");
  const std::string measured = Replaced(nothing, R"("benchmarks": {)",
                                        R"("benchmarks": {"commit": "m", "date": "2026-11-28", )");
  DM_ASSERT_OK_AND_ASSIGN(const RunRecord run, ImportPublished(measured, "h.json", {}));
  EXPECT_EQ(run.commit, "m");
  EXPECT_EQ(FormatUtc(run.time), "2026-11-28T00:00:00Z");
  DM_ASSERT_OK_AND_ASSIGN(
      const RunRecord given,
      ImportPublished(measured, "h.json", {.time = kTestTime, .commit = "mine"}));
  EXPECT_EQ(given.commit, "mine");
  EXPECT_EQ(given.time, kTestTime);
  const std::string silent =
      Replaced(nothing, R"("commit": "older", "date": "2026-11-29T00:00:00Z",)", "");
  EXPECT_THAT(ImportPublished(silent, "h.json", {}),
              StatusIs(StatusCode::kInvalidArgument,
                       "h.json: does not say of which commit and of when it is: add --commit ID "
                       "--time 2026-11-30T02:24:17Z"));
  EXPECT_THAT(ImportPublished(silent, "h.json", {.commit = "c"}),
              StatusIs(StatusCode::kInvalidArgument,
                       "h.json: does not say of when it is: add --time 2026-11-30T02:24:17Z"));
}

TEST(ImportPublishedTest, TotalsOfConformance) {
  DM_ASSERT_OK_AND_ASSIGN(
      const RunRecord run,
      ImportPublished(R"({"gpu": "x", "compute_capability": "9.0", "commit": "c", "date":
        "2026-11-30", "conformance": {"passed": 1243, "failed": 1, "skipped": 31}})",
                      "h.json", {}));
  EXPECT_THAT(run.suites, ElementsAre(SuiteResult{"conformance", 1243, 1, 31, ""}));
}

TEST(ImportPublishedTest, Hostile) {
  for (const auto& [part, instead, message] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"\"median_ms\": 1.0", "\"median_ms\": 0", "drafts[0].median_ms: expected a time"},
           {"\"weights\": 4586572288", "\"weights\": 1.5", "memory.weights: expected"},
           {"\"graph_ms\": 2.0", "\"x\": 2", "draft/b/nb=1.graph_ms: required"},
           {"\"sm_90\"", "\"x\"", "compute_capability: expected an architecture"},
           {"\"microseconds\": 2.5", "\"microseconds\": -1", "microseconds: expected a time"},
           {"2026-11-30T02:24:17Z", "yesterday", "date: expected a time as 2026-11-30T02:24:17Z"},
           {"0.5}", "\"x\"}", "worst_used_share: expected"}}) {
    std::string text = kPublished;
    text.replace(text.find(part), part.size(), instead);
    const auto run = ImportPublished(text, "h.json", {});
    ASSERT_FALSE(run.ok()) << part;
    EXPECT_THAT(run.status().message(), HasSubstr(message));
  }
  EXPECT_THAT(ImportPublished(R"({"gpu": "x", "compute_capability": "9.0"})", "h.json", {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("expected published results")));
}

}  // namespace
}  // namespace draftmark
