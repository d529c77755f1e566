// What the paths take, and how calls are put into chains. machine_test.cc launches those.
#include "benchmarks/roofline/linear_paths.h"

#include "kernels/stream_chain/stream_chain_traits.h"
#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

// Calls whose weights lie behind each other at addresses that nothing reads.
std::vector<kernels::LinearArgs> Calls(std::size_t count, std::int64_t rows = 16) {
  const auto address = [](std::size_t at) { return reinterpret_cast<BFloat16*>(at << 12); };
  std::vector<kernels::LinearArgs> calls;
  for (std::size_t i = 0; i < count; ++i) {
    calls.push_back({.x = address(1),
                     .weight = address(10 + i),
                     .y = address(2),
                     .rows = rows,
                     .n = 256,
                     .k = 128,
                     .workspace = address(3),
                     .workspace_bytes = kCublasLtWorkspaceBytes});
  }
  return calls;
}

std::vector<std::size_t> StepsOf(std::size_t calls) {
  std::vector<std::size_t> steps;
  for (const kernels::StreamChain& chain : ChainsOf(Calls(calls))) {
    steps.push_back(chain.steps().size());
  }
  return steps;
}

TEST(ChainsOfTest, AreAsLongAsALaunchTakes) {
  constexpr std::size_t kMost = kernels::StreamChainTraits::kMostSteps;
  EXPECT_THAT(StepsOf(0), IsEmpty());
  EXPECT_THAT(StepsOf(1), ElementsAre(1));
  EXPECT_THAT(StepsOf(kMost), ElementsAre(kMost));
  EXPECT_THAT(StepsOf(4 * kMost + 1), ElementsAre(kMost, kMost, kMost, kMost, 1));
}

TEST(ChainsOfTest, HoldEveryCallInItsOrder) {
  std::vector<kernels::LinearArgs> calls = Calls(19);
  calls[3].multiplier = 0.5f;
  calls[3].softcap = 30;
  calls[3].bias = calls[3].x;
  std::size_t i = 0;
  for (const kernels::StreamChain& chain : ChainsOf(calls)) {
    for (const kernels::StreamChain::Step& step : chain.steps()) {
      SCOPED_TRACE(i);
      EXPECT_THAT(step.heads, IsEmpty());
      ASSERT_TRUE(step.linear.has_value());
      const kernels::StreamLinear& linear = *step.linear;
      EXPECT_EQ(linear.x, calls[i].x);
      EXPECT_EQ(linear.rows, 16);
      EXPECT_EQ(linear.k, 128);
      EXPECT_EQ(linear.part_count, 1);
      EXPECT_EQ(linear.parts[0].weight, calls[i].weight);
      EXPECT_EQ(linear.parts[0].bias, calls[i].bias);
      EXPECT_EQ(linear.parts[0].y, calls[i].y);
      EXPECT_EQ(linear.parts[0].n, 256);
      EXPECT_EQ(linear.epilogue, kernels::StreamEpilogue::kStore);
      EXPECT_EQ(linear.norm_weight, nullptr);
      EXPECT_EQ(linear.multiplier, calls[i].multiplier);
      EXPECT_EQ(linear.softcap, calls[i].softcap);
      ++i;
    }
  }
  EXPECT_EQ(i, calls.size());
}

// Multiplies nothing, but remembers what.
class FakeLibrary : public CublasLt {
 public:
  Status Multiply(const GemmArgs& args, cudaStream_t) override {
    weights.push_back(args.weight);
    return weights.size() == fails_at ? InternalError("no algorithm") : OkStatus();
  }

  std::vector<const BFloat16*> weights;
  std::size_t fails_at = 0;
};

TEST(LinearPathsTest, TheSimplePathMultipliesOneByOne) {
  FakeLibrary library;
  const ByPath<LinearPath> paths = LinearPaths(library);
  for (const std::int64_t rows : {1, 16, 32}) {
    const std::vector<kernels::LinearArgs> calls = Calls(10, rows);
    EXPECT_TRUE(paths.simple.takes(calls[0]));
    library.weights.clear();
    ASSERT_THAT(paths.simple.launch({.calls = calls}, nullptr), IsOk());
    ASSERT_EQ(library.weights.size(), calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(library.weights[i], calls[i].weight);
  }
  library.weights.clear();
  library.fails_at = 3;
  EXPECT_THAT(paths.simple.launch({.calls = Calls(10)}, nullptr),
              StatusIs(StatusCode::kInternal, "no algorithm"));
  EXPECT_EQ(library.weights.size(), 3u);
}

// On every machine; what else fits depends on the device.
TEST(LinearPathsTest, TheFastPathTakesNoMoreThan16Rows) {
  FakeLibrary library;
  const ByPath<LinearPath> paths = LinearPaths(library);
  ASSERT_TRUE(paths.fast.has_value());
  EXPECT_FALSE(paths.fast->takes(Calls(1, 32)[0]));
  EXPECT_FALSE(paths.fast->takes(Calls(1, 17)[0]));
  unsigned counter = 0;
  // Without a device that has chains another error comes first.
  EXPECT_THAT(paths.fast->launch({.calls = Calls(1, 32), .counter = &counter}, nullptr),
              Not(IsOk()));
  EXPECT_THAT(paths.fast->launch({.calls = Calls(1)}, nullptr), Not(IsOk()));
  EXPECT_THAT(library.weights, IsEmpty());
}

}  // namespace
}  // namespace draftmark
