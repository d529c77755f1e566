// One byte more in one buffer of each scratch system, planted in their sources: found in every
// case, named, and nothing else is.
#include <string>
#include <vector>

#include "conformance/counts/scratch_counts.h"
#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_data.h"

namespace draftmark {
namespace {

using testing::HasSubstr;

TEST(ScratchMutantTest, OneByteMoreIsFoundAndNamed) {
  const std::string path = TestData("benchmarks/recorded/counts.json");
  DM_ASSERT_OK_AND_ASSIGN(const std::string text, ReadTextFile(path));
  DM_ASSERT_OK_AND_ASSIGN(const RecordedCounts recorded, ParseRecordedCounts(text, path));
  DM_ASSERT_OK_AND_ASSIGN(const CountedCases found, CountScratch(TestData("golden/configs")));
  const std::vector<CountFinding> findings = CompareCounts(recorded, found, {""});
  // Per case: the buffer, and the ledger's peak and device bytes.
  EXPECT_EQ(findings.size(), 3 * found.size());
  std::size_t named = 0;
  for (const CountFinding& finding : findings) {
    EXPECT_EQ(finding.kind, CountFindingKind::kLarger);
    EXPECT_EQ(finding.found, finding.expected + 1);
    EXPECT_THAT(finding.ToString(), HasSubstr("(+1)"));
    named += finding.field == "logits";
  }
  EXPECT_EQ(named, found.size());
}

}  // namespace
}  // namespace draftmark
