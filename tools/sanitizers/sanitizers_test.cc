// Shows that each sanitizer config reports what it is for. DRAFTMARK_ASAN, _UBSAN and _TSAN say
// which configs this is built with.
#include <cstdlib>

#include "gtest/gtest.h"
#include "tools/sanitizers/planted_bugs.h"

namespace draftmark {
namespace {

// How a process ends after a report.
constexpr int kExitLeak = 1;
constexpr int kExitRace = 66;

class SanitizersDeathTest : public ::testing::Test {
 protected:
  // A fresh process for each bug instead of a fork: sanitizers have threads of their own.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

#define SKIP_UNLESS(is_on, config) \
  if (!(is_on)) GTEST_SKIP() << "not built with --config=" << (config)

TEST_F(SanitizersDeathTest, AsanReportsReadBehindHeapBlock) {
  SKIP_UNLESS(DRAFTMARK_ASAN, "asan");
  EXPECT_DEATH(ReadBehindHeapBlock(), "AddressSanitizer: heap-buffer-overflow");
}

TEST_F(SanitizersDeathTest, AsanReportsLeak) {
  SKIP_UNLESS(DRAFTMARK_ASAN, "asan");
  EXPECT_EXIT((LeakHeapBlock(), std::exit(0)), ::testing::ExitedWithCode(kExitLeak),
              "LeakSanitizer: detected memory leaks");
}

TEST_F(SanitizersDeathTest, UbsanReportsSignedOverflow) {
  SKIP_UNLESS(DRAFTMARK_UBSAN, "ubsan");
  EXPECT_DEATH(OverflowSignedInt(), "runtime error: signed integer overflow");
}

TEST_F(SanitizersDeathTest, TsanReportsRace) {
  SKIP_UNLESS(DRAFTMARK_TSAN, "tsan");
  EXPECT_EXIT((RaceOnVariable(), std::exit(0)), ::testing::ExitedWithCode(kExitRace),
              "ThreadSanitizer: data race");
}

}  // namespace
}  // namespace draftmark
