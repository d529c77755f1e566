#include "conformance/counts/scratch_counts.h"

#include <set>
#include <string>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_data.h"
#include "src/cases/case_id.h"

namespace draftmark {
namespace {

using testing::HasSubstr;

StatusOr<CountedCases> Count() { return CountScratch(TestData("golden/configs")); }

// spec/dflash_scratch.md section 4: 675,944,624 bytes on the device and 320 pinned for 8 bands of
// the DFlash2 drafter at gamma 10; here at its own block size.
TEST(ScratchCountsTest, FieldsAndLedgerAgree) {
  DM_ASSERT_OK_AND_ASSIGN(const CountedCases cases, Count());
  for (const auto& [counted, counts] : cases) {
    EXPECT_EQ(counted.first, "");
    DM_ASSERT_OK_AND_ASSIGN(const CaseId id, ParseCaseId(counted.second));
    EXPECT_EQ(id.ToString(), counted.second);
    std::uint64_t bytes = 0;
    std::uint64_t fields = 0;
    for (const auto& [field, value] : counts) {
      if (field.starts_with("ledger.")) continue;
      bytes += value;
      ++fields;
    }
    EXPECT_EQ(counts.at("ledger.peak_bytes"), bytes) << counted.second;
    EXPECT_EQ(counts.at("ledger.allocations"), fields) << counted.second;
    EXPECT_LE(counts.at("ledger.device_bytes"), bytes) << counted.second;
  }
}

TEST(ScratchCountsTest, EveryKnownConfig) {
  DM_ASSERT_OK_AND_ASSIGN(const CountedCases cases, Count());
  std::multiset<std::string> systems;
  for (const auto& [counted, counts] : cases) systems.insert(ParseCaseId(counted.second)->system);
  EXPECT_EQ(systems.count("buffer_sizes"), 20u);
  EXPECT_EQ(systems.count("dflash_v1"), systems.count("dflash_v2"));
  EXPECT_GE(systems.count("dflash_v2"), 8u + 32u);  // files, and entries that can be run
  EXPECT_TRUE(
      cases.contains({"", "scratch/dflash_v2/z-lab.qwen3-8b-dflash-b16/ctx_window=4096,nb=8"}));
}

// The recorded values: an intended change is accepted by `draftmark perf accept CASE --reason TEXT`.
TEST(ScratchCountsTest, NothingIsLargerThanRecorded) {
  const std::string path = TestData("benchmarks/recorded/counts.json");
  DM_ASSERT_OK_AND_ASSIGN(const std::string text, ReadTextFile(path));
  DM_ASSERT_OK_AND_ASSIGN(const RecordedCounts recorded, ParseRecordedCounts(text, path));
  DM_ASSERT_OK_AND_ASSIGN(const CountedCases found, Count());
  for (const CountFinding& finding : CompareCounts(recorded, found, {""})) {
    ADD_FAILURE() << finding.ToString() << "\n  accept: draftmark perf accept "
                  << finding.counted.second << " --reason TEXT";
  }
  EXPECT_EQ(PrintRecordedCounts(recorded), text) << "draftmark perf accept writes this file";
}

TEST(ScratchCountsTest, AFolderWithoutConfigsIsAnError) {
  EXPECT_THAT(CountScratch("no/such/folder"),
              StatusIs(StatusCode::kNotFound, HasSubstr("no/such")));
}

}  // namespace
}  // namespace draftmark
