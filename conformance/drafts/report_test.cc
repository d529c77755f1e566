// What a report says of the scratch that a backend ran on.
#include "conformance/drafts/run_case.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

CaseReport Report(const std::string& scratch) {
  CaseReport report;
  report.id = "draft/case/gamma=4,ctx=9,steps=1,nb=1";
  report.directory = "golden/drafts/case";
  report.backend = "cuda";
  report.precision = Precision::kBf16;
  report.scratch = scratch;
  return report;
}

TEST(ReportTest, TheDefaultScratchHasNoName) {
  const CaseReport report = Report("");
  EXPECT_EQ(ReportText(report), "PASS draft/case/gamma=4,ctx=9,steps=1,nb=1 cuda bf16: 0 stages\n");
  EXPECT_EQ(ReproductionLine(report),
            "draftmark verify golden/drafts/case --backend cuda --precision bf16");
  EXPECT_FALSE(ReportJson(report).contains("scratch"));
}

TEST(ReportTest, AnotherScratchIsNamed) {
  CaseReport report = Report("v1");
  EXPECT_THAT(ReportText(report), StartsWith("PASS " + report.id + " cuda bf16 scratch v1: "));
  EXPECT_EQ(ReportJson(report)["scratch"], "v1");
  StageVerdict off;
  off.stage = "fc";
  off.Fail(FailureKind::kMissing, "missing");
  report.verdicts.push_back(off);
  EXPECT_THAT(ReportText(report), StartsWith("FAIL " + report.id + " cuda bf16 scratch v1: "));
  EXPECT_THAT(ReportText(report),
              HasSubstr("reproduce: draftmark verify golden/drafts/case --backend cuda "
                        "--precision bf16 --scratch v1\n"));
}

}  // namespace
}  // namespace draftmark
