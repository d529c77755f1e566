#include "src/config/config_file.h"

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

TEST(ReadConfigFileTest, TakesWhatPublishedFilesContain) {
  const TestFolder folder;
  const std::string path = folder.Path("config.json");
  ASSERT_THAT(WriteTextFile(path, R"({"limit": [0.0, Infinity], "a": 1, "a": 1})"), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(const Json json, ReadConfigFile(path));
  EXPECT_EQ(json["a"], 1);
}

TEST(ReadConfigFileTest, ErrorsNameThePath) {
  EXPECT_THAT(ReadConfigFile("nowhere.json"),
              StatusIs(StatusCode::kNotFound, HasSubstr("nowhere.json")));
  const TestFolder folder;
  const std::string path = folder.Path("config.json");
  ASSERT_THAT(WriteTextFile(path, R"({"a": 1, "a": 2})"), IsOk());
  EXPECT_THAT(ReadConfigFile(path), StatusIs(StatusCode::kDataLoss, HasSubstr(path + ": a: key")));
}

}  // namespace
}  // namespace draftmark
