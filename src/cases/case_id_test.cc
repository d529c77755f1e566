#include "src/cases/case_id.h"

#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

TEST(CaseIdTest, ParsingAndPrintingAreInverse) {
  for (const char* text : {
           "op/rms_norm/rows=16,h=4096/bf16",
           "op/rms_norm/rows=16,h=4096/bf16/denormal",
           "draft/qwen3-8b-dflash-b16/gamma=16,ctx=2048,new=8,nb=1",
           "scratch/dflash_v2/qwen3.8-27b-dflash2/ctx_window=4096,nb=8",
           "op/argmax/v=18446744073709551615/bf16",
       }) {
    DM_ASSERT_OK_AND_ASSIGN(const CaseId id, ParseCaseId(text));
    EXPECT_EQ(id.ToString(), text);
    DM_ASSERT_OK_AND_ASSIGN(const CaseId again, ParseCaseId(id.ToString()));
    EXPECT_EQ(again, id);
  }
}

TEST(CaseIdTest, FieldsOfAScratchId) {
  DM_ASSERT_OK_AND_ASSIGN(const CaseId id, ParseCaseId("scratch/dflash_v1/tiny/ctx_window=16"));
  EXPECT_EQ(id.system, "dflash_v1");
  EXPECT_EQ(id.subject, "tiny");
  EXPECT_EQ(id.keys.at(0).second, 16u);
}

TEST(CaseIdTest, BadTextsSayWhatIsWrong) {
  EXPECT_THAT(ParseCaseId(""), StatusIs(StatusCode::kInvalidArgument, HasSubstr("in front")));
  EXPECT_THAT(ParseCaseId("ops/x/a=1/bf16"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("in front")));
  EXPECT_THAT(ParseCaseId("draft/x"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("3 parts")));
  EXPECT_THAT(ParseCaseId("draft/x/a=1/bf16"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("3 parts")));
  EXPECT_THAT(ParseCaseId("draft//a=1"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not a name")));
  EXPECT_THAT(ParseCaseId("draft/x y/a=1"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not a name")));
  for (const char* keys :
       {"", "a", "a=", "=1", "a=-1", "a=1x", "a=01", "a=1,", "a=18446744073709551616"}) {
    EXPECT_THAT(ParseCaseId(std::string("draft/x/") + keys),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("key=number")))
        << keys;
  }
  EXPECT_THAT(ParseCaseId("draft/x/a=1,a=2"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("twice")));
}

}  // namespace
}  // namespace draftmark
