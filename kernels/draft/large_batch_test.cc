// The largest shapes that a session is asked for: 64 bands, blocks of 32 rows, and more new rows than
// one pass of the scratch takes.
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/draft/testing/draft_test.h"

namespace draftmark::kernels {
namespace {

constexpr std::uint64_t kBands = 64;
constexpr std::uint64_t kWidth = 32;
constexpr SessionLimits kLimits = {
    .max_batch = kBands, .max_context = 48, .ctx_window = 256, .gamma = kWidth};

class LargeBatchTest : public DraftTest, public ::testing::WithParamInterface<std::string> {
 protected:
  // Band b gets rows up to 10 + b % 7, then b % 23 more; every band proposes after each.
  std::vector<BlockResult> Run(CudaDraftSession& session, const DrafterConfig& config) {
    std::vector<BlockResult> results;
    for (const int step : {0, 1}) {
      std::vector<BlockRequest> requests;
      for (std::uint64_t b = 0; b < kBands; ++b) {
        const auto early = static_cast<std::int32_t>(10 + b % 7);
        const auto late = static_cast<std::int32_t>(b % 23);
        EXPECT_THAT(step == 0 ? AppendRows(session, config, b, b, 0, early)
                              : AppendRows(session, config, b, b, early, late),
                    IsOk());
        requests.push_back(Block(config, b, static_cast<std::uint32_t>(b),
                                 step == 0 ? early : early + late, kWidth));
      }
      const StatusOr<std::vector<BlockResult>> proposed = session.Propose(requests, nullptr);
      EXPECT_THAT(proposed, IsOk());
      if (!proposed.ok()) return results;
      results.insert(results.end(), proposed->begin(), proposed->end());
    }
    return results;
  }
};
INSTANTIATE_TEST_SUITE_P(Variants, LargeBatchTest,
                         ::testing::Values("dflash", "dflash2", "dspark_vanilla", "dspark_odd"),
                         [](const auto& run) { return run.param; });

TEST_P(LargeBatchTest, SixtyFourBandsReplayedAndKernelByKernel) {
  const DraftVariant variant = DraftVariantOf(GetParam());
  const auto graphs = Open(variant, kLimits);
  const auto eager = Open(variant, kLimits, {.graphs = false});
  ClearPools(*graphs);
  ClearPools(*eager);
  EXPECT_EQ(graphs->PassRows(kWidth, kBands), 256u) << "fewer than a step's rows";
  const std::vector<BlockResult> got = Run(*graphs, variant.config);
  const std::vector<BlockResult> expected = Run(*eager, variant.config);
  EXPECT_EQ(got.size(), 2 * kBands);
  EXPECT_EQ(DifferenceOf(expected, got), "");
  EXPECT_TRUE(PoolBytes(*eager) == PoolBytes(*graphs));
  EXPECT_EQ(graphs->replays(), 2u);
}

// Own kernels compute a row the same in whatever pass: each band is what it is alone.
TEST_P(LargeBatchTest, EachBandIsWhatItIsAlone) {
  const DraftVariant variant = DraftVariantOf(GetParam());
  const auto together = Open(variant, kLimits, {}, Products::kOwn);
  const std::vector<BlockResult> all = Run(*together, variant.config);
  ASSERT_EQ(all.size(), 2 * kBands);
  for (const std::uint64_t b : {std::uint64_t{0}, std::uint64_t{22}, std::uint64_t{63}}) {
    SessionLimits one = kLimits;
    one.max_batch = 1;
    const auto alone = Open(variant, one, {}, Products::kOwn);
    const auto rows = static_cast<std::int32_t>(10 + b % 7 + b % 23);
    ASSERT_THAT(AppendRows(*alone, variant.config, 0, b, 0, rows), IsOk());
    const BlockRequest request =
        Block(variant.config, 0, static_cast<std::uint32_t>(b), rows, kWidth);
    DM_ASSERT_OK_AND_ASSIGN(const std::vector<BlockResult> expected,
                            alone->Propose({&request, 1}, nullptr));
    EXPECT_EQ(DifferenceOf(expected, {&all[kBands + b], 1}), "") << "band " << b;
  }
}

}  // namespace
}  // namespace draftmark::kernels
