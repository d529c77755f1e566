#include "src/base/find_in_checkout.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"

namespace draftmark {
namespace {

std::optional<std::string> FindFile(const std::string& relative) {
  return FindInCheckout(relative,
                        [](const std::string& path) { return RealFileSystem().IsFile(path); });
}

class FindInCheckoutTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::unsetenv("BUILD_WORKSPACE_DIRECTORY");
    for (const char* const folder : {"here/below", "there"}) {
      std::filesystem::create_directories(root_.Path(folder));
    }
    ASSERT_THAT(WriteTextFile(root_.Path("here/marker"), ""), IsOk());
    ASSERT_THAT(WriteTextFile(root_.Path("there/marker"), ""), IsOk());
    std::filesystem::current_path(root_.Path("here/below"));
  }
  void TearDown() override { std::filesystem::current_path(start_); }

  const TestFolder root_;
  const std::filesystem::path start_ = std::filesystem::current_path();
};

TEST_F(FindInCheckoutTest, LooksUpwardsAndKeepsThePathShort) {
  EXPECT_EQ(FindFile("marker"), "../marker");
}

TEST_F(FindInCheckoutTest, ANamedWorkspaceComesFirst) {
  ::setenv("BUILD_WORKSPACE_DIRECTORY", root_.Path("there").c_str(), 1);
  EXPECT_EQ(FindFile("marker"), root_.Path("there/marker"));
}

TEST_F(FindInCheckoutTest, AWorkspaceWithoutTheFileIsPassedOver) {
  ::setenv("BUILD_WORKSPACE_DIRECTORY", root_.path().c_str(), 1);
  EXPECT_EQ(FindFile("marker"), "../marker");
}

TEST_F(FindInCheckoutTest, NothingIsFoundWhereNothingIs) {
  EXPECT_EQ(FindFile("no/such/file"), std::nullopt);
}

}  // namespace
}  // namespace draftmark
