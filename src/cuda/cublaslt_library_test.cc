#include "src/cuda/cublaslt_library.h"

#include <cstdlib>

#include "fmt/format.h"
#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CublasLtLibraryTest, NamesWhereItLooked) {
  EXPECT_THAT(LoadCublasLt({"/nowhere/libcublasLt.so.13", "libabsent.so.13"}),
              StatusIs(StatusCode::kUnavailable,
                       fmt::format("cuBLASLt {} is needed: looked for /nowhere/libcublasLt.so.13, "
                                   "libabsent.so.13; found none of them",
                                   kCublasLtMajorVersion)));
}

// The C library is on every machine, and is not cuBLASLt.
TEST(CublasLtLibraryTest, NamesAnotherLibrary) {
  EXPECT_THAT(LoadCublasLt({"/nowhere/libcublasLt.so.13", "libc.so.6"}),
              StatusIs(StatusCode::kUnavailable,
                       HasSubstr("; found libc.so.6 has no function cublasLtGetVersion")));
}

TEST(CublasLtLibraryTest, NamesAFileThatIsNoLibrary) {
  EXPECT_THAT(LoadCublasLt({"/proc/self/cmdline"}),
              StatusIs(StatusCode::kUnavailable,
                       HasSubstr("; found /proc/self/cmdline cannot be loaded (")));
}

// fake_cublaslt.cc: libraries that answer with a version and have nothing else.
TEST(CublasLtLibraryTest, NamesAnotherVersion) {
  EXPECT_THAT(
      LoadCublasLt({std::getenv("OLD_LIBRARY")}),
      StatusIs(StatusCode::kUnavailable, AllOf(HasSubstr("libold_cublaslt.so is version 11.8.4"),
                                               Not(HasSubstr("has no function")))));
}

TEST(CublasLtLibraryTest, NamesAMissingFunction) {
  EXPECT_THAT(
      LoadCublasLt({std::getenv("OLD_LIBRARY"), std::getenv("PARTIAL_LIBRARY")}),
      StatusIs(StatusCode::kUnavailable, AllOf(HasSubstr("libold_cublaslt.so is version 11.8.4; "),
                                               HasSubstr("libpartial_cublaslt.so has no function "
                                                         "cublasLtGetStatusName"))));
}

TEST(CublasLtLibraryTest, LooksInTheToolkitsOfTheEnvironment) {
  ASSERT_EQ(::setenv("CUDA_HOME", "/toolkits/home", /*overwrite=*/1), 0);
  ASSERT_EQ(::setenv("CUDA_PATH", "", /*overwrite=*/1), 0);
  const std::vector<std::string> candidates = CublasLtCandidates();
  const std::string soname = fmt::format("libcublasLt.so.{}", kCublasLtMajorVersion);
  EXPECT_EQ(candidates.front(), soname);
  EXPECT_THAT(candidates, Contains("/usr/local/cuda/lib64/" + soname));
  EXPECT_THAT(candidates, Contains("/toolkits/home/lib/" + soname));
  EXPECT_EQ(candidates.back(), "/toolkits/home/targets/x86_64-linux/lib/" + soname);
}

// An unfit candidate before it does not hide the right one.
TEST(CublasLtLibraryTest, TheMachinesLibraryIsTheOneOfTheHeaders) {
  std::vector<std::string> candidates = CublasLtCandidates();
  candidates.insert(candidates.begin(), std::getenv("OLD_LIBRARY"));
  const StatusOr<CublasLtFunctions> lt = LoadCublasLt(candidates);
  if (!lt.ok()) GTEST_SKIP() << lt.status().ToString();
  EXPECT_EQ(lt->version / 10000, static_cast<std::size_t>(CUBLAS_VERSION / 10000));
  EXPECT_STREQ(lt->get_status_name(CUBLAS_STATUS_SUCCESS), "CUBLAS_STATUS_SUCCESS");
  EXPECT_THAT(lt->path, HasSubstr("libcublasLt.so."));
}

}  // namespace
}  // namespace draftmark
