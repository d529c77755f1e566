#include "src/base/runfiles.h"

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"

namespace draftmark {
namespace {

class RunfilesTest : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("TEST_SRCDIR", root_.Path("").c_str(), 1); }

  const TestFolder root_;
};

TEST_F(RunfilesTest, TheProjectsFolderIsThatOfBazel) {
  ::setenv("TEST_WORKSPACE", "_main", 1);
  EXPECT_EQ(Runfiles("golden"), root_.Path("") + "/_main/golden");
  ::unsetenv("TEST_WORKSPACE");
  EXPECT_EQ(Runfiles("golden"), root_.Path("") + "/draftmark/golden");
  ::unsetenv("TEST_SRCDIR");
  EXPECT_EQ(Runfiles("golden"), "/no-runfiles/draftmark/golden");
}

TEST_F(RunfilesTest, OtherRepositoriesAreMapped) {
  EXPECT_EQ(ExternalRunfiles("oracle_cases", "cases"), root_.Path("") + "/oracle_cases/cases");
  ASSERT_THAT(WriteTextFile(root_.Path("_repo_mapping"),
                            "other,oracle_cases,of_another\n"
                            ",more_oracle_cases,wrong\n"
                            ",oracle_cases,_main~repositories~oracle_cases\n"),
              IsOk());
  EXPECT_EQ(ExternalRunfiles("oracle_cases", "cases"),
            root_.Path("") + "/_main~repositories~oracle_cases/cases");
}

// Of this very test, before another one changes the environment.
const std::string kOwn = Runfiles("src/base");

TEST(RealRunfilesTest, AreThere) { EXPECT_TRUE(RealFileSystem().IsDirectory(kOwn)) << kOwn; }

}  // namespace
}  // namespace draftmark
