// Hopper's kernels against those of every GPU. Elsewhere both are the same kernels, and the test says
// little.
#include <cstdint>
#include <vector>

#include "kernels/paged_attention/attention_paths_test.h"

namespace draftmark::kernels {
namespace {

// What Hopper's path leaves to the combine kernel fits the workspace of the other one.
constexpr bool PartsFit() {
  using Traits = PagedAttentionTraits;
  using Hopper = Traits::Hopper;
  for (std::int64_t kv = 1; kv <= 64; ++kv) {
    for (std::int64_t rows = 1; rows <= 200; ++rows) {
      if (Hopper::Parts(kv * Traits::QueryTiles(rows, 1)) > Traits::Splits(rows, kv, kv))
        return false;
    }
  }
  return true;
}
static_assert(PartsFit());

class HopperPathsTest : public AttentionPathsTest {
  Status Launch(const PagedAttentionArgs& args) override {
    return LaunchPagedAttention(args, stream());
  }
};

TEST_F(HopperPathsTest, LengthsAroundCacheBlocksAndTiles) {
  for (const std::int64_t d : {64, 128}) {
    for (const auto& lengths : std::vector<std::vector<std::int64_t>>{
             {1, 15, 16}, {17, 63, 64}, {65, 79, 80}, {81, 1119, 1120}, {1121, 2064, 5000}}) {
      Prepare({.rows = 16, .heads = 32, .kv = 8, .d = d}, lengths);
      for (const AttentionMask& mask : kAttentionMasks) {
        ExpectSame(mask);
        if (HasFatalFailure()) FAIL() << "lengths " << testing::PrintToString(lengths);
      }
    }
  }
}

// 1, 2, 4, 5, 7 and 9 heads of a KV head; up to three query tiles; clusters of 14 and 7; one part to 8.
TEST_F(HopperPathsTest, Shapes) { ExpectSameForShapes(); }

// Clusters that take several items after each other, some without keys.
TEST_F(HopperPathsTest, ABandHasTheSameBitsAloneAndAmongOthers) { ExpectBandsKeepTheirBits(); }

}  // namespace
}  // namespace draftmark::kernels
