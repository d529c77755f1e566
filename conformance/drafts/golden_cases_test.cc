// Every oracle case at hand, in both precisions: the ones in golden/ always, all of ../shared/cases
// where it lies beside the checkout.
#include <cstdio>
#include <string>
#include <vector>

#include "conformance/drafts/run_case.h"
#include "src/base/runfiles.h"
#include "src/base/status_matchers.h"
#include "src/cases/drafter_case.h"

namespace draftmark {
namespace {

struct Run {
  std::string directory;
  Precision precision;
};

std::string RunName(const ::testing::TestParamInfo<Run>& info) {
  const std::string& path = info.param.directory;
  return path.substr(path.rfind('/') + 1) + "_" + std::string(PrecisionName(info.param.precision));
}

std::vector<Run> RunsBelow(const std::string& folder) {
  std::vector<Run> runs;
  for (const std::string& directory : FindDrafterCases(folder)) {
    runs.push_back({directory, Precision::kExact});
    runs.push_back({directory, Precision::kBf16});
  }
  return runs;
}

void RunAndExpectPass(const Run& run) {
  DM_ASSERT_OK_AND_ASSIGN(const DrafterCase drafter_case, DrafterCase::Load(run.directory));
  DM_ASSERT_OK_AND_ASSIGN(
      const CaseReport report,
      RunDrafterCase(drafter_case, run.precision, kReferenceBackend, OpenReferenceForCase));
  EXPECT_EQ(report.FirstFailure(), nullptr) << ReportText(report);
  EXPECT_GE(report.verdicts.size(), 10u) << "hardly anything was compared";
}

class GoldenCaseTest : public ::testing::TestWithParam<Run> {};
TEST_P(GoldenCaseTest, ReferencePasses) { RunAndExpectPass(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Golden, GoldenCaseTest,
                         ::testing::ValuesIn(RunsBelow(Runfiles("golden/drafter"))), RunName);

TEST(GoldenCasesTest, Float64FixesManyTokensInBf16) {
  // A rule that never binds would be none. dflash_softcap alone decides nothing: its margins are small.
  std::size_t decided = 0;
  std::size_t drafts = 0;
  for (const auto& run : RunsBelow(Runfiles("golden/drafter"))) {
    if (run.precision != Precision::kBf16) continue;
    DM_ASSERT_OK_AND_ASSIGN(const DrafterCase drafter_case, DrafterCase::Load(run.directory));
    DM_ASSERT_OK_AND_ASSIGN(
        const CaseReport report,
        RunDrafterCase(drafter_case, run.precision, kReferenceBackend, OpenReferenceForCase));
    for (const StageVerdict& verdict : report.verdicts) {
      unsigned of_step_decided = 0, of_step_drafts = 0;
      const std::size_t colon = verdict.rule.rfind(": ");
      if (verdict.stage != "draft_tokens" || colon == std::string::npos) continue;
      ASSERT_EQ(std::sscanf(verdict.rule.c_str() + colon, ": %u of %u drafts", &of_step_decided,
                            &of_step_drafts),
                2);
      decided += of_step_decided;
      drafts += of_step_drafts;
    }
  }
  EXPECT_EQ(drafts, 183u);
  EXPECT_GE(decided, 90u);
}

TEST(GoldenCasesTest, TheSevenOracleCasesAreThere) {
  EXPECT_EQ(RunsBelow(Runfiles("golden/drafter")).size(), 2u * 7u);
}

class OracleCaseTest : public ::testing::TestWithParam<Run> {};
// Empty without ../shared/cases; OracleCasesTest says so.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OracleCaseTest);
TEST_P(OracleCaseTest, ReferencePasses) { RunAndExpectPass(GetParam()); }
INSTANTIATE_TEST_SUITE_P(
    Oracle, OracleCaseTest,
    ::testing::ValuesIn(RunsBelow(ExternalRunfiles("oracle_cases", "cases/drafter"))), RunName);

TEST(OracleCasesTest, AreBesideTheCheckout) {
  if (RunsBelow(ExternalRunfiles("oracle_cases", "cases/drafter")).empty()) {
    GTEST_SKIP() << "no ../shared/cases beside this checkout: only the cases in golden/ were run";
  }
}

}  // namespace
}  // namespace draftmark
