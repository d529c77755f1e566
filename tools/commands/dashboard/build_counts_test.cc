#include "tools/commands/dashboard/build_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "conformance/counts/scratch_counts.h"
#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_data.h"
#include "src/base/test_folder.h"
#include "src/perf/dashboard/tally.h"
#include "src/perf/recorded_counts.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

constexpr char kCase[] =
    "scratch/dflash_v2/deepseek-ai.dflash_qwen3_8b_block7/ctx_window=4096,nb=8";

class BuildCountsTest : public ::testing::Test {
 protected:
  BuildCountsTest() : configs_(TestData("golden/configs")) {
    recorded_.cases = CountScratch(configs_).value();
  }

  DashboardData Add(DashboardData data = {}) {
    const std::string path = folder_.Path("counts.json");
    EXPECT_THAT(WriteTextFile(path, PrintRecordedCounts(recorded_)), IsOk());
    EXPECT_THAT(AddBuildCounts(configs_, path, data), IsOk());
    return data;
  }

  TestFolder folder_;
  std::string configs_;
  RecordedCounts recorded_;
};

TEST_F(BuildCountsTest, OneByteMoreThanRecordedIsGrowth) {
  EXPECT_EQ(TallyOf(Add()).grown, 0u);
  auto& counts = recorded_.cases.begin()->second;
  counts.begin()->second -= 1;
  const DashboardData data = Add();
  EXPECT_EQ(TallyOf(data).grown, 1u);
  for (const DashboardCount& count : data.counts) {
    if (!HasGrown(count)) continue;
    EXPECT_EQ(count.field, counts.begin()->first);
    EXPECT_EQ(count.value, *count.recorded + 1);
  }
}

TEST_F(BuildCountsTest, FieldsAndCasesThatAreNotRecorded) {
  ASSERT_TRUE(recorded_.cases.contains({"", kCase})) << "no such case any more";
  recorded_.cases[{"", kCase}].erase("logits");
  const std::size_t grown = TallyOf(Add()).grown;
  EXPECT_EQ(grown, 1u);  // a field that appears is an increase over 0
  recorded_.cases.erase({"", kCase});
  const DashboardData data = Add();
  EXPECT_EQ(TallyOf(data).grown, 0u);  // a case that appears has no baseline
  for (const DashboardCount& count : data.counts) {
    EXPECT_EQ(count.recorded.has_value(), count.case_id != kCase) << count.case_id;
    EXPECT_EQ(count.is_bytes, count.field != "ledger.allocations") << count.field;
  }
}

// The build is newer than any night.
TEST_F(BuildCountsTest, TheyTakeThePlaceOfTheHistorys) {
  DashboardData before;
  before.counts = {{"", kCase, "logits", 1, 1, true, "old"},
                   {"cpu", kCase, "logits", 1, 1, true, ""}};
  const DashboardData data = Add(before);
  EXPECT_EQ(data.counts.front().architecture, "cpu");
  for (const DashboardCount& count : data.counts) EXPECT_NE(count.commit, "old");
}

// What was smaller once, as in published results of an older build, and was accepted since has not
// grown; what was not accepted has.
TEST_F(BuildCountsTest, AcceptedCountsOfAGpuHaveNotGrown) {
  constexpr char kDraft[] = "draft/a/gamma=16";
  recorded_.cases[{"sm_90", kDraft}] = {{"memory_workspace", 94724684}};
  DashboardData before;
  before.counts = {{"sm_90", kDraft, "memory_workspace", 94724684, 94723660, true, "c"},
                   {"sm_90", kDraft, "launches", 7, 6, false, "c"},
                   {"sm_100", kDraft, "memory_workspace", 94724684, 94723660, true, "c"}};
  const DashboardData data = Add(before);
  EXPECT_FALSE(HasGrown(data.counts[0]));
  EXPECT_TRUE(HasGrown(data.counts[1]));  // nothing is recorded of it
  EXPECT_TRUE(HasGrown(data.counts[2]));
  before.counts[0].value = 94724685;
  EXPECT_TRUE(HasGrown(Add(before).counts[0]));
}

TEST_F(BuildCountsTest, ErrorsNameTheFile) {
  DashboardData data;
  EXPECT_THAT(AddBuildCounts(configs_, folder_.Path("none.json"), data),
              StatusIs(StatusCode::kNotFound, HasSubstr("none.json")));
  EXPECT_TRUE(data.counts.empty());
}

}  // namespace
}  // namespace draftmark
