// The harness names each fault of the table by its first stage, and finds nothing when all are off.
#include <cstdlib>
#include <set>
#include <string>

#include "conformance/drafts/run_case.h"
#include "conformance/mutants/fault_switch.h"
#include "src/base/status_matchers.h"
#include "src/cases/drafter_case.h"

namespace draftmark {
namespace {

const std::string kCases = std::string(std::getenv("TEST_SRCDIR")) + "/draftmark/golden/drafter";

StatusOr<CaseReport> RunGolden(const std::string& directory, Precision precision) {
  DM_ASSIGN_OR_RETURN(const DrafterCase drafter_case, DrafterCase::Load(directory));
  return RunDrafterCase(drafter_case, precision, kReferenceBackend, OpenReferenceForCase);
}

class PrecisionTest : public ::testing::TestWithParam<Precision> {};
INSTANTIATE_TEST_SUITE_P(Precisions, PrecisionTest,
                         ::testing::Values(Precision::kExact, Precision::kBf16),
                         [](const auto& run) { return std::string(PrecisionName(run.param)); });

TEST_P(PrecisionTest, EachFaultIsNamedByItsFirstStage) {
  for (const FaultInfo& info : FaultTable()) {
    const ScopedFault fault(info.fault);
    DM_ASSERT_OK_AND_ASSIGN(const CaseReport report,
                            RunGolden(kCases + "/" + std::string(info.golden_case), GetParam()));
    ASSERT_NE(report.FirstFailure(), nullptr) << info.id << " lives: " << info.what;
    EXPECT_EQ(report.FirstFailure()->Name(), info.first_stage) << info.id << "\n"
                                                               << ReportText(report);
  }
}

TEST_P(PrecisionTest, WithAllFaultsOffTheMutantBuildIsTheReference) {
  const std::vector<std::string> directories = FindDrafterCases(kCases);
  ASSERT_EQ(directories.size(), 7u);
  for (const std::string& directory : directories) {
    DM_ASSERT_OK_AND_ASSIGN(const CaseReport report, RunGolden(directory, GetParam()));
    EXPECT_EQ(report.FirstFailure(), nullptr) << ReportText(report);
  }
}

TEST(FaultTableTest, OneRowForEachFault) {
  std::set<Fault> faults;
  std::set<std::string_view> ids;
  for (const FaultInfo& info : FaultTable()) {
    EXPECT_TRUE(faults.insert(info.fault).second) << info.id;
    EXPECT_TRUE(ids.insert(info.id).second) << info.id;
  }
  EXPECT_FALSE(faults.contains(Fault::kNone));
  // kGqaModulo is the last of the enumeration: the table holds every value up to it.
  EXPECT_EQ(faults.size(), static_cast<std::size_t>(Fault::kGqaModulo));
}

}  // namespace
}  // namespace draftmark
