#include "tools/commands/bench/roofline_json.h"

#include "src/base/status_matchers.h"
#include "tools/commands/bench/roofline_testing.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

RooflineReport Report(double fast_ratio, double share) {
  RooflineReport report;
  report.facts = FakeFacts();
  report.commit = "abc";
  report.date = "2026-11-30";
  report.runs = 100;
  const RooflineWork work = RooflineWorks().value().front();
  report.works.push_back(
      JudgeWork(work, report.facts,
                ByPath<TimedRuns>{.simple = FakeRuns(FloorTimes(work.draft, 2)),
                                  .fast = FakeRuns(FloorTimes(work.draft, fast_ratio))}));
  const LinearLine line = {.shape = {.n = 4096, .k = 4096, .used_as = "q"}, .rows = 16};
  report.linear.push_back(JudgeLinear(line, report.facts,
                                      ByPath<double>{.simple = SecondsOfShare(line.shape, 0.5),
                                                     .fast = SecondsOfShare(line.shape, share)}));
  return report;
}

TEST(RooflineJsonTest, HasWhatTheHeaderSays) {
  RooflineReport report = Report(1.05, 0.9);
  report.works.front().baseline = FakeBaseline(3);
  const OrderedJson json = RooflineJson(report);
  EXPECT_EQ(json["schema_version"], 1);
  for (const char* const key : {"gpu", "driver", "cuda", "cublaslt", "commit", "date"}) {
    EXPECT_TRUE(json[key].is_string()) << key;
  }
  EXPECT_EQ(json["passed"], 2);
  EXPECT_EQ(json["failed"], 0);
  EXPECT_EQ(json["runs"], 100);
  EXPECT_EQ(json["copy_bytes_per_second"], 4e12);
  EXPECT_EQ(json["theoretical_bytes_per_second"], 5e12);
  const OrderedJson& work = json["works"][0];
  EXPECT_EQ(work["id"], report.works[0].id);
  EXPECT_EQ(work["outcome"], "PASS");
  EXPECT_EQ(work["must"], 1.25);
  EXPECT_EQ(work["aim"], 1.10);
  EXPECT_EQ(work["floor_bytes"], 3384363520u);
  EXPECT_EQ(work["second_read_bytes"], 83886080u);
  EXPECT_EQ(work["path"], "fast");
  EXPECT_EQ(work["fast"]["median_ms"], report.works[0].times->fast->median_ms);
  EXPECT_EQ(work["simple"]["p90_ms"], report.works[0].times->simple.p90_ms);
  EXPECT_EQ(work["ratio"], report.works[0].ratio());
  EXPECT_EQ(work["must_met"], true);
  EXPECT_EQ(work["baseline"]["best"], "graph");
  EXPECT_EQ(work["baseline"]["best_ms"], 3);
  EXPECT_EQ(work["baseline"]["columns"]["eager"], 12);
  EXPECT_TRUE(work["baseline"]["columns"]["compile_graph"].is_null());
  EXPECT_EQ(work["factor"], report.works[0].factor().value());
  EXPECT_TRUE(work["error"].is_null());
  const OrderedJson& linear = json["linear"][0];
  EXPECT_EQ(linear["id"], "linear/rows=16,n=4096,k=4096");
  EXPECT_EQ(linear["n"], 4096);
  EXPECT_EQ(linear["k"], 4096);
  EXPECT_EQ(linear["m"], 16);
  EXPECT_EQ(linear["bytes"], 33554432);
  EXPECT_NEAR(linear["us"].get<double>(), 33554432 / 4e12 / 0.9 * 1e6, 1e-9);
  EXPECT_NEAR(linear["share"].get<double>(), 0.9, 1e-12);
  EXPECT_EQ(linear["class"], "under 64 MB");
  EXPECT_EQ(json["linear_classes"][0]["worst_id"], linear["id"]);
  EXPECT_TRUE(json["baseline_notes"].empty());
}

TEST(RooflineJsonTest, ALineWithoutAFastPathIsTheSimpleOnes) {
  RooflineReport report = Report(1.05, 0.9);
  const LinearLine line = {.shape = {.n = 4096, .k = 4096, .used_as = "q"}, .rows = 32};
  for (const double share : {0.85, 0.75}) {
    report.linear.push_back(JudgeLinear(
        line, report.facts,
        ByPath<double>{.simple = SecondsOfShare(line.shape, share), .fast = std::nullopt}));
  }
  const OrderedJson linear = RooflineJson(report)["linear"];
  EXPECT_EQ(linear[0]["path"], "fast");
  EXPECT_EQ(linear[0]["outcome"], "PASS");
  for (const auto& [i, share] : {std::pair(1, 0.85), std::pair(2, 0.75)}) {
    EXPECT_EQ(linear[i]["path"], "simple");
    EXPECT_NEAR(linear[i]["share"].get<double>(), share, 1e-12);
    EXPECT_EQ(linear[i]["us"], linear[i]["simple_us"]);
    EXPECT_EQ(linear[i]["outcome"], share > 0.8 ? "PASS" : "FAIL");  // judged all the same
  }
}

TEST(RooflineJsonTest, ATimeThatCannotBeIsNoNumber) {
  RooflineReport report = Report(0.5, 2);
  report.facts.theoretical_bytes_per_second.reset();
  report.baseline_notes = {"no torch"};
  const OrderedJson json = RooflineJson(report);
  EXPECT_EQ(json["failed"], 2);
  EXPECT_TRUE(json["theoretical_bytes_per_second"].is_null());
  EXPECT_EQ(json["baseline_notes"][0], "no torch");
  const OrderedJson& work = json["works"][0];
  const OrderedJson& linear = json["linear"][0];
  for (const char* const key : {"fast", "simple", "ratio", "path", "baseline", "factor"}) {
    EXPECT_TRUE(work[key].is_null()) << key;
  }
  for (const char* const key : {"us", "share", "simple_us", "path"}) {
    EXPECT_TRUE(linear[key].is_null()) << key;
  }
  for (const OrderedJson& entry : {work, linear}) {
    EXPECT_EQ(entry["outcome"], "FAIL");
    EXPECT_EQ(entry["must_met"], false);
    EXPECT_THAT(entry["error"].get<std::string>(), HasSubstr("cannot be"));
  }
}

}  // namespace
}  // namespace draftmark
