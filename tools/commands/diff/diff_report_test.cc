#include "tools/commands/diff/diff_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Diagnosis TokensOff() {
  StageFinding finding;
  finding.id = {0, 0, "draft_tokens"};
  finding.tensor = "step0.draft_tokens";
  finding.agreement = Agreement::kOff;
  finding.local = false;
  finding.failure = "draft 1: token 7 has score 1, but the rule gives 9 with 2";
  Diagnosis diagnosis;
  diagnosis.findings = {finding};
  return diagnosis;
}

TEST(DiffReportTest, WhatTokensAloneCannotTellHasNoFix) {
  Diagnosis diagnosis = TokensOff();
  diagnosis.consistent = {{plain::Mistake::kGqaModulo}, {plain::Mistake::kGelu}};
  EXPECT_THAT(DiagnosisText(diagnosis, "d"),
              AllOf(HasSubstr("tokens alone cannot tell: consistent with gqa-modulo (M24), gelu "
                              "(4.6); some of its inputs were not dumped"),
                    Not(HasSubstr("looks like")), Not(HasSubstr("fix:"))));
  const OrderedJson json = DiagnosisJson(diagnosis, "d");
  EXPECT_THAT(json["explanations"], IsEmpty());
  ASSERT_THAT(json["consistent_with"], SizeIs(2));
  EXPECT_EQ(json["consistent_with"][1][0]["name"], "gelu");
}

TEST(DiffReportTest, WhatIsExplainedHasAFix) {
  Diagnosis diagnosis = TokensOff();
  diagnosis.explanations = {{plain::Mistake::kGelu}};
  EXPECT_THAT(DiagnosisText(diagnosis, "d"),
              AllOf(HasSubstr("looks like\n    gelu (4.6)"), HasSubstr("fix: g * sigmoid(g)"),
                    Not(HasSubstr("cannot tell"))));
}

}  // namespace
}  // namespace draftmark
