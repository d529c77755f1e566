#include "benchmarks/draft_case.h"

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"

namespace draftmark {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

StatusOr<std::vector<DraftCase>> Find(const std::string& text) {
  return FindDraftCases({.catalogue = "", .drafts = {text}});
}

std::string IdOf(const std::string& text) { return Find(text).value().front().id; }

TEST(DraftCaseTest, IdsLeaveOutOwnersAndRemarks) {
  EXPECT_EQ(EntryId("z-lab/Qwen3-8B-DFlash-b16"), "qwen3-8b-dflash-b16");
  EXPECT_EQ(EntryId("z-lab/Qwen3.8-27B-DFlash2 (incoai)"), "qwen3.8-27b-dflash2");
  EXPECT_EQ(EntryId("poolside Laguna DFlash"), "poolside-laguna-dflash");
}

TEST(DraftCaseTest, TheDefaultSetIsTheTableOfTheBaseline) {
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<DraftCase> cases, FindDraftCases({}));
  std::vector<std::string> ids;
  ids.reserve(cases.size());
  for (const DraftCase& c : cases) ids.push_back(c.id);
  EXPECT_THAT(ids, ElementsAre("draft/qwen3-8b-dflash-b16/gamma=16,ctx=2048,new=8,nb=1",
                               "draft/qwen3-4b-dflash-b16/gamma=16,ctx=2048,new=8,nb=1",
                               "draft/qwen3-8b-dflash-b16/gamma=16,ctx=32768,new=8,nb=1",
                               "draft/qwen3.8-27b-dflash2/gamma=8,ctx=4096,new=8,nb=1",
                               "draft/qwen3.8-27b-dspark/gamma=7,ctx=4096,new=7,nb=1",
                               "draft/qwen3-8b-dflash-b16/gamma=16,ctx=2048,new=8,nb=8"));
}

TEST(DraftCaseTest, KeysMayBeLeftOutAndStandInAnyOrder) {
  EXPECT_EQ(IdOf("z-lab/Qwen3-4B-DFlash-b16"),
            "draft/qwen3-4b-dflash-b16/gamma=16,ctx=2048,new=8,nb=1");
  EXPECT_EQ(IdOf("QWEN3-4b-dflash-b16,nb=3,ctx=0,new=2,gamma=4"),
            "draft/qwen3-4b-dflash-b16/gamma=4,ctx=0,new=2,nb=3");
  EXPECT_EQ(IdOf("dspark_qwen3_4b_block7"),
            "draft/dspark_qwen3_4b_block7/gamma=7,ctx=2048,new=7,nb=1");
}

TEST(DraftCaseTest, ShapeAndConfigAreThoseOfTheText) {
  DM_ASSERT_OK_AND_ASSIGN(const std::vector<DraftCase> cases,
                          Find("qwen3-4b-dflash-b16,gamma=5,ctx=6,new=3,nb=2"));
  EXPECT_EQ(cases[0].config.hidden_size, 2560u);
  EXPECT_EQ(cases[0].shape.gamma, 5u);
  EXPECT_EQ(cases[0].shape.context, 6u);
  EXPECT_EQ(cases[0].shape.new_rows, 3u);
  EXPECT_EQ(cases[0].shape.bands, 2u);
}

TEST(DraftCaseTest, ErrorsNameTheOptionAndWhatIsWrong) {
  const auto expect = [](const std::string& text, StatusCode code, const std::string& message) {
    EXPECT_THAT(Find(text).status(), StatusIs(code, HasSubstr("--draft=" + text + ": ")));
    EXPECT_THAT(Find(text).status(), StatusIs(code, HasSubstr(message)));
  };
  expect("nobody/nothing,nb=1", StatusCode::kNotFound, "has no drafter \"nobody/nothing\"");
  expect("", StatusCode::kNotFound, "has no drafter \"\"");
  expect("qwen3-4b-dflash-b16,width=3", StatusCode::kInvalidArgument,
         "unknown key \"width\"; expected gamma, ctx, new or nb");
  EXPECT_EQ(Find("qwen3-4b-dflash-b16,nb").status().message(),
            "--draft=qwen3-4b-dflash-b16,nb: \"nb\" is not of the form key=number");
  expect("qwen3-4b-dflash-b16,nb=1,nb=2", StatusCode::kInvalidArgument, "given twice");
  expect("qwen3-4b-dflash-b16,gamma=1", StatusCode::kInvalidArgument, "gamma: expected 2 to");
  expect("qwen3-4b-dflash-b16,nb=0", StatusCode::kInvalidArgument, "nb: expected 1 to");
  expect("qwen3-4b-dflash-b16,ctx=99999999999", StatusCode::kInvalidArgument, "found 99999999999");
  // Entries of which not everything is known, also those that have a whole config.
  expect("z-lab/MiniMax-M2.7-DFlash", StatusCode::kFailedPrecondition, "is not run: ");
  expect("z-lab/Qwen3.5-9B-DFlash,nb=1", StatusCode::kFailedPrecondition, "is not run: ");
  expect("recipe/qwen3-8b-domino", StatusCode::kUnimplemented, "recipe/qwen3-8b-domino");
}

TEST(DraftCaseTest, ANameOfTwoOwnersIsRefused) {
  const TestFolder folder;
  ASSERT_THAT(WriteTextFile(folder.Path("two.json"),
                            R"({"configs": [{"name": "a/Same"}, {"name": "b/same"}]})"),
              IsOk());
  EXPECT_THAT(FindDraftCases({.catalogue = folder.Path("two.json"), .drafts = {"same"}}).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"a/Same\" or \"b/same\"")));
}

TEST(DraftCaseTest, AnotherCatalogueMayBeMissing) {
  EXPECT_THAT(FindDraftCases({.catalogue = "no/such.json", .drafts = {}}).status(),
              StatusIs(StatusCode::kNotFound, HasSubstr("no/such.json")));
}

TEST(DraftOptionsTest, TakesItsOwnAndLeavesTheOthers) {
  std::vector<std::string> arguments = {"program",     "--draft=a,nb=2", "--benchmark_filter=x",
                                        "--catalogue", "file.json",      "--draft",
                                        "b",           "--drafts=c"};
  DM_ASSERT_OK_AND_ASSIGN(const DraftCaseOptions options, TakeDraftOptions(arguments));
  EXPECT_THAT(options.drafts, ElementsAre("a,nb=2", "b"));
  EXPECT_EQ(options.catalogue, "file.json");
  EXPECT_TRUE(options.fast);
  EXPECT_THAT(arguments, ElementsAre("program", "--benchmark_filter=x", "--drafts=c"));
}

TEST(DraftOptionsTest, ThePathIsFastOrSimple) {
  const auto take = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "program");
    StatusOr<DraftCaseOptions> options = TakeDraftOptions(arguments);
    EXPECT_TRUE(!options.ok() || arguments.size() == 1);  // taken out
    return options;
  };
  EXPECT_TRUE(take({}).value().fast);
  EXPECT_TRUE(take({"--path=fast"}).value().fast);
  EXPECT_FALSE(take({"--path=simple"}).value().fast);
  EXPECT_FALSE(take({"--path", "simple"}).value().fast);
  EXPECT_TRUE(take({"--path=simple", "--path=fast"}).value().fast);  // the last one
  for (const char* const other : {"slow", "Simple", "fast,simple", "1"}) {
    EXPECT_THAT(take({"--path", other}).status(),
                StatusIs(StatusCode::kInvalidArgument,
                         std::string("--path: expected fast or simple, found ") + other));
  }
  for (const std::vector<std::string>& none : {std::vector<std::string>{"--path"}, {"--path="}}) {
    EXPECT_THAT(take(none).status(),
                StatusIs(StatusCode::kInvalidArgument, "--path needs a value: fast or simple"));
  }
}

TEST(DraftOptionsTest, AnOptionWithoutAValueIsRefused) {
  std::vector<std::string> arguments = {"program", "--draft"};
  EXPECT_THAT(TakeDraftOptions(arguments).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--draft needs a value: ENTRY")));
  arguments = {"program", "--catalogue="};
  EXPECT_THAT(TakeDraftOptions(arguments).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--catalogue needs a value: FILE")));
}

TEST(ContextCases, AreOneForEachDrafter) {
  const std::vector<DraftCase> drafts =
      FindDraftCases({.catalogue = "",
                      .drafts = {"qwen3-8b-dflash-b16", "qwen3-8b-dflash-b16,ctx=9,nb=2",
                                 "z-lab/Qwen3.8-27B-DFlash2 (incoai),gamma=8"}})
          .value();
  const std::vector<DraftCase> contexts = ContextCases(drafts);
  ASSERT_EQ(contexts.size(), 2u);
  EXPECT_EQ(contexts[0].id, "draft/qwen3-8b-dflash-b16/gamma=16,ctx=0,new=2048,nb=1");
  EXPECT_EQ(contexts[1].id, "draft/qwen3.8-27b-dflash2/gamma=8,ctx=0,new=2048,nb=1");
  EXPECT_EQ(contexts[1].shape.new_rows, 2048u);
  EXPECT_EQ(contexts[1].config.hidden_size, 5120u);
}

TEST(TakeDraftOptionsTest, SamplesAreANumber) {
  std::vector<std::string> arguments = {"program", "--samples=12"};
  EXPECT_EQ(TakeDraftOptions(arguments)->samples, 12u);
  arguments = {"program"};
  EXPECT_EQ(TakeDraftOptions(arguments)->samples, 100u);
  arguments = {"program", "--samples=none"};
  EXPECT_FALSE(TakeDraftOptions(arguments).ok());
}

}  // namespace
}  // namespace draftmark
