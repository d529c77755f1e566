#include "benchmarks/roofline/linear_shapes.h"

#include <algorithm>
#include <utility>

#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

std::vector<LinearShape> Shapes() { return LinearShapes(RooflineWorks().value()); }

std::string UseOf(std::uint64_t n, std::uint64_t k) {
  for (const LinearShape& shape : Shapes()) {
    if (shape.n == n && shape.k == k) return shape.used_as;
  }
  return "none";
}

TEST(LinearShapesTest, AreThoseOfEveryDrafter) {
  EXPECT_EQ(UseOf(4096, 4096), "qwen3-8b-dflash-b16: q, o");
  EXPECT_EQ(UseOf(1024, 4096), "qwen3-8b-dflash-b16: k, v");
  EXPECT_EQ(UseOf(6144, 4096), "qwen3-8b-dflash-b16: q|k|v");
  EXPECT_EQ(UseOf(12288, 4096), "qwen3-8b-dflash-b16: gate, up");
  EXPECT_EQ(UseOf(24576, 4096), "qwen3-8b-dflash-b16: gate|up");
  EXPECT_EQ(UseOf(4096, 12288), "qwen3-8b-dflash-b16: down");
  EXPECT_EQ(UseOf(4096, 20480), "qwen3-8b-dflash-b16: fc");
  EXPECT_EQ(UseOf(10240, 4096), "qwen3-8b-dflash-b16: K and V of all layers");
  EXPECT_EQ(UseOf(151936, 2560), "qwen3-4b-dflash-b16: lm_head");
  EXPECT_EQ(UseOf(248320, 5120), "qwen3.8-27b-dflash2: lm_head");
  EXPECT_EQ(UseOf(1280, 5120), "qwen3.8-27b-dflash2: conv projection");
  EXPECT_EQ(UseOf(256, 5120), "qwen3.8-27b-dflash2: selector projection");
  EXPECT_EQ(UseOf(248320, 256), "none");  // Markov's w2
}

TEST(LinearShapesTest, AreDistinctAndAscend) {
  const std::vector<LinearShape> shapes = Shapes();
  for (std::size_t i = 1; i < shapes.size(); ++i) {
    EXPECT_LE(shapes[i - 1].bytes(), shapes[i].bytes());
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(shapes[i].n == shapes[j].n && shapes[i].k == shapes[j].k) << shapes[i].used_as;
    }
  }
  EXPECT_EQ(shapes.front().bytes(), 256u * 5120 * 2);
  EXPECT_EQ(shapes.back().Id(16), "linear/rows=16,n=248320,k=5120");
}

TEST(PlanChainTest, WeightsAreColdWhenTheyComeAgain) {
  for (const std::uint64_t l2 : {std::uint64_t{6} << 20, std::uint64_t{60} << 20}) {
    for (const LinearShape& shape : Shapes()) {
      SCOPED_TRACE(shape.Id(1));
      const ChainPlan plan = PlanChain(shape.bytes(), l2);
      const std::uint64_t others = (plan.copies - 1) * shape.bytes();
      EXPECT_GE(others, 2 * l2);
      EXPECT_GE(others, 100'000'000u);
      EXPECT_GE(plan.calls, 32u);
      EXPECT_GE(plan.calls * shape.bytes(), 1'000'000'000u);
      // The next replay begins where this one ends.
      EXPECT_EQ(plan.calls % plan.copies, 0u);
      EXPECT_LE(plan.copies * shape.bytes(), 6'000'000'000u);
    }
  }
}

}  // namespace
}  // namespace draftmark
