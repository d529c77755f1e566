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

// Few items have many blocks each; and a size never has more blocks at a time than an H200 has room for.
using Hopper = PagedAttentionTraits::Hopper;
static_assert(Hopper::Cluster(1) == 9 && Hopper::Cluster(8) == 9 && Hopper::Cluster(9) == 4 &&
              Hopper::Cluster(30) == 4 && Hopper::Cluster(31) == 2 && Hopper::Cluster(64) == 2);
static_assert(Hopper::ClustersAtATime(9) * 9 <= 132 && Hopper::ClustersAtATime(4) * 4 <= 132 &&
              Hopper::ClustersAtATime(2) * 2 <= 132);

class HopperPathsTest : public AttentionPathsTest {
  Status Launch(const PagedAttentionArgs& args) override {
    return LaunchPagedAttention(args, stream());
  }
};

TEST_F(HopperPathsTest, LengthsAroundCacheBlocksAndTiles) {
  for (const std::int64_t d : {64, 128}) {
    for (const auto& lengths : std::vector<std::vector<std::int64_t>>{{1, 15, 16},
                                                                      {17, 63, 64},
                                                                      {65, 79, 80},
                                                                      {127, 128, 129},
                                                                      {81, 1119, 1120},
                                                                      {1121, 2064, 5000},
                                                                      {16},
                                                                      {17},
                                                                      {720},
                                                                      {721},
                                                                      {5000}}) {
      Prepare({.rows = 16, .heads = 32, .kv = 8, .d = d}, lengths);
      for (const AttentionMask& mask : kAttentionMasks) {
        ExpectSame(mask);
        if (HasFatalFailure()) FAIL() << "lengths " << testing::PrintToString(lengths);
      }
    }
  }
}

// 1, 2, 4, 5, 7 and 9 heads of a KV head; up to three query tiles; clusters of every size; one part to 8.
TEST_F(HopperPathsTest, Shapes) { ExpectSameForShapes(); }

// A dozen and more tiles for each warpgroup of a block, which come from memory one now and one then: none
// may be taken for another.
TEST_F(HopperPathsTest, LongBandsFromColdMemory) {
  const DeviceBuffer beyond_l2 = Bytes(std::uint64_t{128} << 20);
  for (const std::int64_t d : {64, 128}) {
    Prepare({.rows = 16, .heads = 32, .kv = 8, .d = d}, std::vector<std::int64_t>(8, 2064));
    ExpectSame({});
    const std::vector<BFloat16> before = Run(Args({}));
    for (int run = 0; run < 50; ++run) {
      ASSERT_EQ(cudaMemsetAsync(beyond_l2.address().value, run, beyond_l2.bytes(), stream()),
                cudaSuccess);
      ASSERT_EQ(Run(Args({})), before) << "d " << d << ", run " << run;
    }
  }
}

// Clusters that take several items after each other, some without keys.
TEST_F(HopperPathsTest, ABandHasTheSameBitsWhereverItStands) {
  ForNineBands([this](const AttentionMask& mask) { ExpectSameBitsInOtherPlaces(mask); });
}

}  // namespace
}  // namespace draftmark::kernels
