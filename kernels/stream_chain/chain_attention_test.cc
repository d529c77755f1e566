// Attention as a step of a chain, against the kernels of every GPU; and what the chain around it does.
#include <cstdint>
#include <vector>

#include "kernels/paged_attention/attention_paths_test.h"
#include "kernels/stream_chain/stream_chain.h"
#include "kernels/stream_chain/stream_chain_traits.h"

namespace draftmark::kernels {
namespace {

class ChainAttentionTest : public AttentionPathsTest {
 protected:
  void SetUp() override {
    AttentionPathsTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (device().compute_major != 9) {
      GTEST_SKIP() << "streaming chains are for sm_90, this is " << device().Describe();
    }
    counters_ = Upload(std::vector<unsigned>(StreamChainTraits::kCounters));
  }
  Status Launch(const PagedAttentionArgs& args) override {
    EXPECT_TRUE(StreamAttentionFits(args));
    StreamChain chain;
    chain.Add(args);
    return LaunchChain(chain);
  }
  Status LaunchChain(const StreamChain& chain) {
    return LaunchStreamChain(chain, counters_.As<unsigned>(), stream());
  }
  std::vector<unsigned> Counters() { return Read<unsigned>(counters_); }

  // Keys and values of some logical indices of each band, and how they come back: heads that copy them.
  struct Missing {
    std::vector<BFloat16> poisoned[2];  // the pools without them
    std::vector<StreamHeads> heads;
    std::vector<DeviceBuffer> buffers;
  };
  Missing TakeOut(std::int64_t first, std::int64_t count) {
    std::vector<std::int64_t> slots;
    const std::vector<std::uint32_t> tables = Read<std::uint32_t>(tables_);
    for (std::int64_t band = 0; band < bands_; ++band) {
      for (std::int64_t m = first; m < first + count; ++m) {
        slots.push_back(tables[band * table_ + m / 16] * std::int64_t{16} + m % 16);
      }
    }
    const std::int64_t width = shape_.kv * shape_.d;
    Missing missing;
    missing.buffers.push_back(Upload(slots));
    for (const DeviceBuffer* const pool : {&k_, &v_}) {
      std::vector<BFloat16>& all = missing.poisoned[missing.heads.size()];
      all = Read<BFloat16>(*pool);
      std::vector<BFloat16> rows;
      for (const std::int64_t slot : slots) {
        const auto row = all.begin() + slot * width;
        rows.insert(rows.end(), row, row + width);
        std::fill_n(row, width, BFloat16{0xFFFF});
      }
      missing.buffers.push_back(Upload(rows));
      missing.heads.push_back({.x = missing.buffers.back().As<BFloat16>(),
                               .x_stride = width,
                               .rows = std::ssize(slots),
                               .heads = shape_.kv,
                               .d = shape_.d,
                               .pool = pool->As<BFloat16>(),
                               .slots64 = missing.buffers.front().As<std::int64_t>(),
                               .pool_slots = std::ssize(all) / width});
    }
    return missing;
  }
  void Poison(const Missing& missing) {
    Write(k_, missing.poisoned[0]);
    Write(v_, missing.poisoned[1]);
    Set(out_, 0xFF);
  }

  DeviceBuffer counters_;
};

TEST_F(ChainAttentionTest, LengthsAroundCacheBlocksAndStages) {
  for (const std::int64_t d : {64, 128}) {
    for (const auto& lengths : std::vector<std::vector<std::int64_t>>{{1},
                                                                      {15},
                                                                      {16},
                                                                      {17, 31},
                                                                      {32, 33},
                                                                      {255, 256},
                                                                      {257, 511},
                                                                      {513, 1024},
                                                                      {2064, 5000}}) {
      Prepare({.rows = lengths.size() == 1 ? 16 : 8, .heads = 32, .kv = 8, .d = d}, lengths);
      for (const AttentionMask& mask : kAttentionMasks) {
        ExpectSame(mask);
        if (HasFatalFailure()) FAIL() << "lengths " << testing::PrintToString(lengths);
      }
    }
  }
  EXPECT_EQ(Counters(), std::vector<unsigned>(StreamChainTraits::kCounters));
}

// 1, 2, 4, 5, 7 and 9 heads of a KV head; up to three tiles of rows; up to 32 splits; blocks with several
// works.
TEST_F(ChainAttentionTest, Shapes) { ExpectSameForShapes(); }

TEST_F(ChainAttentionTest, ABandHasTheSameBitsAloneAndAmongOthers) {
  ForNineBands([this](const AttentionMask& mask) { ExpectSameBitsAlone(mask); });
}

// The second one reads what the first one wrote, through the same partial results, which the first one's
// blocks may still have near.
TEST_F(ChainAttentionTest, SeveralInAChain) {
  Prepare({.rows = 16, .heads = 32, .kv = 8, .d = 128}, {2064});
  const AttentionMask mask;
  const DeviceBuffer middle = Bytes(out_.bytes());
  PagedAttentionArgs first = Args(mask), second = Args(mask), third = Args(mask);
  first.out = middle.As<BFloat16>();
  second.q = middle.As<BFloat16>();
  second.out = out_.As<BFloat16>();
  third.q = out_.As<BFloat16>();
  third.out = middle.As<BFloat16>();
  for (const PagedAttentionArgs* const args : {&first, &second, &third}) {
    ASSERT_THAT(Launch(*args), IsOk());
  }
  const std::vector<BFloat16> expected = Read<BFloat16>(middle);
  for (int run = 0; run < 20; ++run) {
    Set(middle, 0xFF);
    Set(out_, 0xFF);
    StreamChain chain;
    for (const PagedAttentionArgs* const args : {&first, &second, &third}) chain.Add(*args);
    ASSERT_THAT(LaunchChain(chain), IsOk());
    ASSERT_EQ(Read<BFloat16>(middle), expected) << "run " << run;
  }
  EXPECT_EQ(Counters(), std::vector<unsigned>(StreamChainTraits::kCounters));
}

// What flows in early would be poison: behind a long step, ...
TEST_F(ChainAttentionTest, WaitsForLateKeys) {
  constexpr std::int64_t kLate = 8, kLong = 65536;
  Prepare({.rows = 16, .heads = 32, .kv = 8, .d = 128}, {2064});
  const std::vector<BFloat16> expected = Run(Args({}));
  const Missing late = TakeOut(2064 - 16 - kLate, kLate);
  const DeviceBuffer weight = Bytes(kLong * 1024 * sizeof(BFloat16)),
                     y = Bytes(kLong * sizeof(BFloat16)), x = Bytes(1024 * sizeof(BFloat16));
  StreamLinear slow = {.x = x.As<BFloat16>(), .rows = 1, .k = 1024};
  slow.parts[0] = {.weight = weight.As<BFloat16>(), .y = y.As<BFloat16>(), .n = kLong};
  for (int run = 0; run < 20; ++run) {
    Poison(late);
    StreamChain chain;
    chain.Add(slow);
    chain.Add(late.heads);
    chain.Add(Args({}), kLate);
    ASSERT_THAT(LaunchChain(chain), IsOk());
    ASSERT_EQ(Read<BFloat16>(out_), expected) << "run " << run;
  }
}

// ... and behind the kernel that writes the blocks' own rows, while older keys flow in already.
TEST_F(ChainAttentionTest, AKernelOfItsOwnWaitsForNewKeys) {
  Prepare({.rows = 16, .heads = 32, .kv = 8, .d = 128}, std::vector<std::int64_t>(8, 2064));
  for (const AttentionMask& mask : kAttentionMasks) {
    PagedAttentionArgs args = Args(mask);
    ASSERT_THAT(LaunchPagedAttention(args, stream()), IsOk());
    const std::vector<BFloat16> expected = Read<BFloat16>(out_);
    // The older ones by a kernel in front of that: they are complete when that one lets attention start.
    const Missing all = TakeOut(2064 - 32, 32), old = TakeOut(2064 - 32, 16),
                  rows = TakeOut(2064 - 16, 16);
    args.old_keys_complete = true;
    for (int run = 0; run < 10; ++run) {
      Poison(all);
      ASSERT_THAT(LaunchHeads(old.heads, stream()), IsOk());
      ASSERT_THAT(LaunchHeads(rows.heads, stream()), IsOk());
      ASSERT_THAT(LaunchPagedAttention(args, stream()), IsOk());
      ASSERT_EQ(Read<BFloat16>(out_), expected) << mask << " run " << run;
    }
  }
}

TEST_F(ChainAttentionTest, IsChecked) {
  Prepare({.rows = 16, .heads = 8, .kv = 2, .d = 128}, {40});
  const auto refused = [&](auto change, const char* reason) {
    PagedAttentionArgs args = Args({});
    change(args);
    EXPECT_FALSE(StreamAttentionFits(args)) << reason;
    StreamChain chain;
    chain.Add(args);
    EXPECT_THAT(LaunchChain(chain),
                StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr(reason)));
  };
  refused([](auto& args) { args.d = 32; }, "d is 64 or 128");
  refused([](auto& args) { args.rows = 0; }, "rows");
  refused([](auto& args) { args.v_pool = args.k_pool; }, "pools of their own");
  refused([](auto& args) { args.q += 1; }, "aligned to 16 bytes");
  refused([](auto& args) { args.workspace_bytes = 16; }, "workspace");
  StreamChain chain;
  chain.Add(Args({}), -1);
  EXPECT_THAT(LaunchChain(chain),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("late_keys")));
  chain = {};
  for (int i = 0; i <= StreamChainTraits::kMostAttentions; ++i) chain.Add(Args({}));
  EXPECT_THAT(LaunchChain(chain), StatusIs(StatusCode::kInvalidArgument,
                                           ::testing::HasSubstr("expected attentions in [1, 3]")));
  chain = {};
  chain.Add(Args({}));
  PagedAttentionArgs other = Args({});
  other.rows = 8;
  other.kv = 4;
  chain.Add(other);
  EXPECT_THAT(LaunchChain(chain),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("have the same shape")));
}

}  // namespace
}  // namespace draftmark::kernels
