#include "src/base/counter_hash.h"

#include <gtest/gtest.h>

#include <set>

namespace draftmark {
namespace {

// SplitMix64's published sequence for seed 1234567: Mix64 is its finaliser over the counter.
TEST(CounterHash, IsSplitMix64) {
  constexpr std::uint64_t kSeed = 1234567;
  constexpr std::uint64_t kGamma = 0x9E3779B97F4A7C15u;
  EXPECT_EQ(Mix64(kSeed), 6457827717110365317u);
  EXPECT_EQ(Mix64(kSeed + kGamma), 3203168211198807973u);
  EXPECT_EQ(Mix64(kSeed + 2 * kGamma), 9817491932198370423u);
}

// FNV-1a of "a" is AF63DC4C8601EC8C (the published test vector).
TEST(CounterHash, SeedsAreMixedFnv) {
  EXPECT_EQ(SeedOf(""), Mix64(0xCBF29CE484222325u));
  EXPECT_EQ(SeedOf("a"), Mix64(0xAF63DC4C8601EC8Cu));
  EXPECT_NE(SeedOf("op/a"), SeedOf("op/b"));
}

TEST(CounterHash, UniformStaysInRangeAndSpreads) {
  double sum = 0;
  std::set<double> seen;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    const double value = UniformAt(7, static_cast<std::uint64_t>(i));
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
    seen.insert(value);
  }
  // Mean 1/2 with a standard error of 0.002; the bound is five of them.
  EXPECT_NEAR(sum / kDraws, 0.5, 0.0102);
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kDraws));
}

}  // namespace
}  // namespace draftmark
