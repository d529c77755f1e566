#include "src/base/checked.h"

#include <limits>

#include "gtest/gtest.h"

namespace draftmark {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

TEST(CheckedU64Test, ExactAtTheLimit) {
  EXPECT_EQ((CheckedU64(kMax - 1) + 1).value(), kMax);
  EXPECT_EQ((CheckedU64(kMax / 3) * 3).value(), kMax);
}

TEST(CheckedU64Test, OverflowIsRememberedThroughZero) {
  EXPECT_FALSE((CheckedU64(kMax) + 1).ok());
  EXPECT_FALSE((CheckedU64(kMax) * 2).ok());
  EXPECT_FALSE((CheckedU64(kMax) * 2 * 0).ok());
  EXPECT_FALSE(Max({CheckedU64(1), CheckedU64(kMax) + 1}).ok());
  EXPECT_FALSE(Min(1, CheckedU64(kMax) + 1).ok());
  EXPECT_FALSE(FloorDiv(CheckedU64(kMax) + 1, 2).ok());
}

TEST(CheckedU64Test, Divisions) {
  EXPECT_EQ(FloorDiv(CheckedU64(3333), 32).value(), 104u);
  EXPECT_EQ(CeilDiv(CheckedU64(3333), 32).value(), 105u);
  EXPECT_EQ(CeilDiv(CheckedU64(0), 32).value(), 0u);
  EXPECT_EQ(CeilDiv(CheckedU64(kMax), 1).value(), kMax);  // no overflow on the way
  EXPECT_EQ(RoundUp(CheckedU64(257), 256).value(), 512u);
  EXPECT_EQ(RoundUp(CheckedU64(256), 256).value(), 256u);
  EXPECT_FALSE(RoundUp(CheckedU64(kMax), 256).ok());
}

TEST(CheckedU64Test, MaxAndMin) {
  EXPECT_EQ(Max({3, 9, 4}).value(), 9u);
  EXPECT_EQ(Min(3, CheckedU64(9)).value(), 3u);
}

}  // namespace
}  // namespace draftmark
