#include "src/cuda/gemm_trial.h"

#include <gtest/gtest.h>

#include <vector>

namespace draftmark {
namespace {

TEST(GemmTrialTest, TheFastestWithTheSameBits) {
  EXPECT_EQ(FastestTrial(std::vector<GemmTrial>{{true, 5.0}}), 0u);
  EXPECT_EQ(FastestTrial(std::vector<GemmTrial>{{true, 5.0}, {true, 4.0}, {true, 3.0}}), 2u);
  EXPECT_EQ(FastestTrial(std::vector<GemmTrial>{{true, 5.0}, {true, 4.0}, {false, 3.0}}), 1u);
  EXPECT_EQ(FastestTrial(std::vector<GemmTrial>{{true, 5.0}, {false, 0.0}}), 0u)
      << "it did not run";
  EXPECT_EQ(FastestTrial(std::vector<GemmTrial>{{true, 5.0}, {true, 4.96}}), 0u) << "chance";
  EXPECT_EQ(FastestTrial(std::vector<GemmTrial>{{true, 5.0}, {true, 4.94}}), 1u);
}

TEST(GemmTrialTest, EqualZerosProveNothing) {
  EXPECT_FALSE(SaysSomething({}));
  EXPECT_FALSE(SaysSomething(std::vector<std::uint16_t>(100)));
  EXPECT_FALSE(SaysSomething(std::vector<std::uint16_t>{7, 7, 7, 8}));
  EXPECT_TRUE(SaysSomething(std::vector<std::uint16_t>{7, 7, 9, 8}));
}

}  // namespace
}  // namespace draftmark
