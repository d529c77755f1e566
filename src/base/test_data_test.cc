#include "src/base/test_data.h"

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"

namespace draftmark {
namespace {

class TestDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::unsetenv("BUILD_WORKSPACE_DIRECTORY");
    ::unsetenv("TEST_WORKSPACE");
    std::filesystem::create_directories(root_.Path("runfiles/draftmark"));
    std::filesystem::create_directories(root_.Path("here/below"));
    ASSERT_THAT(WriteTextFile(root_.Path("runfiles/draftmark/both"), ""), IsOk());
    ASSERT_THAT(WriteTextFile(root_.Path("here/both"), ""), IsOk());
    ASSERT_THAT(WriteTextFile(root_.Path("here/only"), ""), IsOk());
    ::setenv("TEST_SRCDIR", root_.Path("runfiles").c_str(), 1);
    std::filesystem::current_path(root_.Path("here/below"));
  }
  void TearDown() override { std::filesystem::current_path(start_); }

  const TestFolder root_;
  const std::filesystem::path start_ = std::filesystem::current_path();
};

TEST_F(TestDataTest, RunfilesComeFirst) {
  EXPECT_EQ(TestData("both"), root_.Path("runfiles/draftmark/both"));
}

TEST_F(TestDataTest, ThenTheCheckout) {
  EXPECT_EQ(TestData("only"), root_.Path("here/only"));
  ::unsetenv("TEST_SRCDIR");
  EXPECT_EQ(TestData("both"), root_.Path("here/both"));
}

TEST_F(TestDataTest, OneSentenceWhereThereIsNone) {
  ::unsetenv("TEST_SRCDIR");
  EXPECT_EXIT((void)TestData("no/such"), ::testing::ExitedWithCode(2),
              "test_data_test: no no/such found: start this test ");
}

}  // namespace
}  // namespace draftmark
