#include "src/perf/recorded_counts.h"

#include <string>
#include <vector>

#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<std::string> kCpu = {""};

RecordedCounts Recorded() {
  RecordedCounts recorded;
  recorded.cases[{"", "scratch/a"}] = {{"logits", 1024}, {"k", 64}};
  recorded.cases[{"sm_90", "draft/a"}] = {{"launches", 40}};
  return recorded;
}

CountedCases Found(std::uint64_t logits) {
  return {{{"", "scratch/a"}, {{"logits", logits}, {"k", 64}}}};
}

std::vector<std::string> Texts(const std::vector<CountFinding>& findings) {
  std::vector<std::string> texts;
  texts.reserve(findings.size());
  for (const CountFinding& finding : findings) texts.push_back(finding.ToString());
  return texts;
}

TEST(RecordedCountsTest, AnyIncreaseIsFoundWithItsField) {
  EXPECT_THAT(CompareCounts(Recorded(), Found(1024), kCpu), IsEmpty());
  EXPECT_THAT(Texts(CompareCounts(Recorded(), Found(1025), kCpu)),
              ElementsAre("LARGER scratch/a: logits: expected 1024 as recorded, found 1025 (+1)"));
  EXPECT_THAT(
      Texts(CompareCounts(Recorded(), Found(1000), kCpu)),
      ElementsAre("SMALLER scratch/a: logits: expected 1024 as recorded, found 1000 (-24)"));
}

TEST(RecordedCountsTest, FieldsThatComeAndGo) {
  CountedCases found = Found(1024);
  found[{"", "scratch/a"}]["fresh"] = 1;
  found[{"", "scratch/a"}].erase("k");
  EXPECT_THAT(Texts(CompareCounts(Recorded(), found, kCpu)),
              ElementsAre("LARGER scratch/a: fresh: expected 0 as recorded, found 1 (+1)",
                          "MISSING scratch/a: k: expected 64 as recorded, and it is not "
                          "counted any more"));
}

TEST(RecordedCountsTest, CasesThatComeAndGo) {
  EXPECT_THAT(Texts(CompareCounts(Recorded(), {{{"", "scratch/b"}, {}}}, kCpu)),
              ElementsAre("GONE scratch/a: it is recorded, and not counted any more",
                          "NEW scratch/b: nothing is recorded of it"));
  // Nobody looked at that architecture.
  EXPECT_THAT(CompareCounts(Recorded(), Found(1024), kCpu), IsEmpty());
  EXPECT_THAT(Texts(CompareCounts(Recorded(), Found(1024), {"", "sm_90"})),
              ElementsAre("GONE draft/a on sm_90: it is recorded, and not counted any more"));
}

TEST(RecordedCountsTest, AcceptRecordsOldNewDateAndReason) {
  RecordedCounts recorded = Recorded();
  EXPECT_THAT(AcceptCounts(Found(1025), kCpu, "scratch/b*", {"2026-11-30", "why"}, recorded),
              IsEmpty());
  const std::vector<AcceptedCount> changes =
      AcceptCounts(Found(1025), kCpu, "scratch/*", {"2026-11-30", "why"}, recorded);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].field, "logits");
  EXPECT_EQ(changes[0].old_value, 1024u);
  EXPECT_EQ(changes[0].new_value, 1025u);
  EXPECT_THAT(CompareCounts(recorded, Found(1025), kCpu), IsEmpty());
  ASSERT_EQ(recorded.accepted.size(), 1u);
  EXPECT_EQ(recorded.accepted[0].reason, "why");
  EXPECT_EQ(recorded.accepted[0].date, "2026-11-30");
  EXPECT_TRUE(recorded.cases.contains({"sm_90", "draft/a"}));
}

TEST(RecordedCountsTest, AcceptTakesCasesThatComeAndGo) {
  RecordedCounts recorded = Recorded();
  const CountedCases found = {{{"", "scratch/b"}, {{"k", 1}}}};
  EXPECT_EQ(AcceptCounts(found, kCpu, "*", {"2026-11-30", "why"}, recorded).size(), 2u);
  EXPECT_THAT(CompareCounts(recorded, found, kCpu), IsEmpty());
  EXPECT_EQ(recorded.accepted[0].case_id, "scratch/a");
  EXPECT_EQ(recorded.accepted[0].field, "case");
  EXPECT_EQ(recorded.accepted[0].old_value, 1u);
  EXPECT_EQ(recorded.accepted[1].case_id, "scratch/b");
  EXPECT_EQ(recorded.accepted[1].new_value, 1u);
  RecordedCounts first;
  EXPECT_EQ(AcceptCounts(found, kCpu, "*", {"2026-11-30", "why"}, first).size(), 1u);
  EXPECT_THAT(first.accepted, IsEmpty());
}

TEST(RecordedCountsTest, PrintingAndParsingAreInverse) {
  RecordedCounts recorded = Recorded();
  AcceptCounts(Found(1025), kCpu, "*", {"2026-11-30", "a \"good\" reason"}, recorded);
  recorded.cases[{"", "scratch/a"}]["zero"] = 0;
  const std::string text = PrintRecordedCounts(recorded);
  EXPECT_EQ(text, R"({
 "schema_version": 1,
 "cases": [
  {"architecture":"","case":"scratch/a","counts":{"k":64,"logits":1025}},
  {"architecture":"sm_90","case":"draft/a","counts":{"launches":40}}
 ],
 "accepted": [
  {"date":"2026-11-30","architecture":"","case":"scratch/a","field":"logits","old":1024,"new":1025,"reason":"a \"good\" reason"}
 ]
}
)");
  DM_ASSERT_OK_AND_ASSIGN(const RecordedCounts read, ParseRecordedCounts(text, "c.json"));
  EXPECT_EQ(PrintRecordedCounts(read), text);
  EXPECT_EQ(PrintRecordedCounts({}),
            "{\n \"schema_version\": 1,\n \"cases\": [],\n \"accepted\": []\n}\n");
}

TEST(RecordedCountsTest, HostileFiles) {
  const auto error = [](const std::string& text) {
    return ParseRecordedCounts(text, "c.json").status();
  };
  const std::string good = R"({"case": "a", "counts": {"k": 1}})";
  EXPECT_THAT(error("{"), StatusIs(StatusCode::kDataLoss, HasSubstr("c.json")));
  EXPECT_THAT(error(R"({"schema_version": 2, "cases": [], "accepted": []})").message(),
              HasSubstr("c.json: schema_version: expected 1, found 2"));
  EXPECT_THAT(error(R"({"schema_version": 1, "accepted": []})").message(), HasSubstr("cases"));
  EXPECT_THAT(
      error(R"({"schema_version": 1, "accepted": [], "cases": [)" + good + "," + good + "]}")
          .message(),
      HasSubstr("cases[1].case: a is there twice"));
  EXPECT_THAT(error(R"({"schema_version": 1, "accepted": [],
                        "cases": [{"case": "a", "counts": {"k": -1}}]})")
                  .message(),
              HasSubstr("cases[0].counts.k: expected an unsigned"));
  EXPECT_THAT(error(R"({"schema_version": 1, "cases": [], "accepted": [
                        {"date": "", "case": "a", "field": "k", "old": 0, "new": 1, "reason": ""}]})")
                  .message(),
              HasSubstr("accepted[0].reason: expected a reason"));
}

TEST(CountsOfReportTest, CountersByCaseId) {
  DM_ASSERT_OK_AND_ASSIGN(const CountedCases cases, CountsOfReport(R"json({
  "context": {"gpu": "NVIDIA H200 (sm_90, 132 SMs)"},
  "benchmarks": [
   {"name": "a/manual_time", "label": "draft/a", "real_time": 1, "launches": 40, "floor_ms": 0.5,
    "memory_weights": 4.5865722880000000e+09, "memory_mhz": 3201.5},
   {"name": "a/manual_time", "label": "draft/a", "repetition_index": 1, "launches": 41},
   {"name": "b", "allocations": 0},
   {"name": "c", "error_occurred": true, "launches": 1},
   {"name": "d", "real_time": 1}]})json",
                                                                   "r.json"));
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases.at({"sm_90", "draft/a"}),
            (Counts{{"launches", 41}, {"memory_weights", 4586572288}}));
  EXPECT_EQ(cases.at({"sm_90", "b"}), (Counts{{"allocations", 0}}));
  EXPECT_THAT(CountsOfReport(R"({"benchmarks": [{"name": "b", "launches": 1.5}]})", "r.json"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("r.json: benchmarks[0].launches: expected a whole number")));
}

}  // namespace
}  // namespace draftmark
