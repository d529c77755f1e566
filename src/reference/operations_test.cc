// Operations against direct formulas, hand-checked vectors (spec/drafter.md section 12) and their
// rounding points.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "src/base/status_matchers.h"
#include "src/reference/attention.h"
#include "src/reference/elementwise.h"
#include "src/reference/linear.h"
#include "src/reference/rope.h"
#include "src/weights/random_drafter.h"

namespace draftmark::reference {
namespace {

using ::testing::HasSubstr;

std::vector<BFloat16> Bf16(std::initializer_list<double> values) {
  std::vector<BFloat16> result;
  for (const double value : values) result.push_back(BFloat16::FromDouble(value));
  return result;
}

std::vector<double> Doubles(const std::vector<BFloat16>& values) {
  std::vector<double> result;
  result.reserve(values.size());
  for (const BFloat16 value : values) result.push_back(value.ToDouble());
  return result;
}

TEST(LinearTest, MatchesTheDirectSumForEveryRemainder) {
  for (const std::size_t width : {1u, 7u, 8u, 9u, 16u, 37u}) {
    const Bf16Matrix weight(3, width, RandomBf16(1, 3 * width, 1));
    const std::vector<double> x = Doubles(RandomBf16(2, 2 * width, 1));
    std::vector<double> out(2 * 5, -1);
    Linear<ExactNumeric>(x, 2, weight, {}, out.data(), 5);
    for (std::size_t r = 0; r < 2; ++r) {
      for (std::size_t o = 0; o < 3; ++o) {
        double sum = 0;
        for (std::size_t i = 0; i < width; ++i)
          sum += x[r * width + i] * weight.row(o)[i].ToDouble();
        EXPECT_NEAR(out[r * 5 + o], sum, 1e-14);
      }
      EXPECT_EQ(out[r * 5 + 3], -1);  // beyond the row: untouched
    }
  }
}

TEST(LinearTest, BiasAndEpilogueComeBeforeTheOneRounding) {
  // 1 + 2^-8 is a midpoint of BF16: alone it rounds to 1, with the bias it does not.
  const Bf16Matrix weight(1, 2, Bf16({1, std::ldexp(1, -8)}));
  const std::vector<BFloat16> bias = Bf16({std::ldexp(1, -12)});
  const std::vector<BFloat16> x = Bf16({1, 1});
  std::vector<BFloat16> out(1);
  Linear<Bf16Numeric>(x, 1, weight, {}, out.data(), 1);
  EXPECT_EQ(out[0].ToDouble(), 1);
  Linear<Bf16Numeric>(x, 1, weight, bias, out.data(), 1);
  EXPECT_EQ(out[0].ToDouble(), 1 + std::ldexp(1, -7));
  // Rounded first, 1 * 1.25 would be 1.25; the unrounded sum gives 1.2548828 -> 1.2578125.
  Linear<Bf16Numeric>(x, 1, weight, {}, out.data(), 1, [](double z) { return z * 1.25; });
  EXPECT_EQ(out[0].ToDouble(), 1.2578125);
}

TEST(RmsNormTest, OneRoundingAndPlainWeight) {
  const std::vector<double> x = {3, 4};
  std::vector<double> out(2);
  RmsNorm<ExactNumeric>(x, 1, 2, Bf16({1, 0.5}), 0, out);
  EXPECT_DOUBLE_EQ(out[0], 3 / std::sqrt(12.5));
  EXPECT_DOUBLE_EQ(out[1], 4 / std::sqrt(12.5) * 0.5);
  // The epsilon is inside the root and not a constant: a zero row stays zero, a tiny one is damped.
  const std::vector<double> tiny = {1e-3, 1e-3};
  RmsNorm<ExactNumeric>(tiny, 1, 2, Bf16({1, 1}), 1e-5, out);
  EXPECT_DOUBLE_EQ(out[0], 1e-3 / std::sqrt(1e-6 + 1e-5));
}

TEST(RmsNormTest, Bf16RoundsOnceNotTwice) {
  // Over many rows, rounding x * k before the weight gives another result in about a quarter of the
  // elements; the single rounding must match the rounded exact value everywhere.
  constexpr std::size_t kWidth = 64;
  const std::vector<BFloat16> x = RandomBf16(3, 20 * kWidth, 2);
  const std::vector<BFloat16> w = RandomBf16(4, kWidth, 1.5);
  std::vector<BFloat16> got(x.size());
  RmsNorm<Bf16Numeric>(x, 20, kWidth, w, 1e-6, got);
  std::vector<double> exact(x.size());
  RmsNorm<ExactNumeric>(Doubles(x), 20, kWidth, w, 1e-6, exact);
  std::size_t twice_differs = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(got[i], BFloat16::FromDouble(exact[i]));
    const double once = BFloat16::FromDouble(exact[i] / w[i % kWidth].ToDouble()).ToDouble();
    twice_differs += BFloat16::FromDouble(once * w[i % kWidth].ToDouble()) == got[i] ? 0 : 1;
  }
  EXPECT_GT(twice_differs, x.size() / 10);  // the mutant would be seen
}

TEST(SiluMulTest, FormulaAndSingleRounding) {
  std::vector<double> gate = {2, -3, 0, 100, -1000};
  SiluMul<ExactNumeric>(gate, std::vector<double>{0.5, 2, 7, 1, 1});
  EXPECT_DOUBLE_EQ(gate[0], 2 / (1 + std::exp(-2.0)) * 0.5);
  EXPECT_DOUBLE_EQ(gate[1], -3 / (1 + std::exp(3.0)) * 2);
  EXPECT_EQ(gate[2], 0);
  EXPECT_EQ(gate[3], 100);  // no clamp at 10
  EXPECT_EQ(gate[4], 0);    // no NaN far out

  std::vector<BFloat16> stored = RandomBf16(5, 1000, 4);
  const std::vector<BFloat16> up = RandomBf16(6, 1000, 4);
  std::vector<double> exact = Doubles(stored);
  SiluMul<ExactNumeric>(exact, Doubles(up));
  SiluMul<Bf16Numeric>(stored, up);
  for (std::size_t i = 0; i < stored.size(); ++i)
    EXPECT_EQ(stored[i], BFloat16::FromDouble(exact[i]));
}

TEST(EmbedTest, ScaleIsOneProductAndOneRounding) {
  const std::vector<BFloat16> row = Bf16({1.0078125, -2});
  std::vector<BFloat16> out(2);
  EmbedRow<Bf16Numeric>(row, std::sqrt(5376.0), out);
  EXPECT_EQ(out[0], BFloat16::FromDouble(1.0078125 * std::sqrt(5376.0)));
}

TEST(ArgMaxTest, TieRule) {
  std::vector<BFloat16> row(2048, BFloat16::FromDouble(-1));
  row[1] = row[1024] = BFloat16::FromDouble(3);
  EXPECT_EQ(ArgMax<Bf16Numeric>(row), 1u);  // not 1024, as a strided scan would choose
  const double nan = std::nan("");
  EXPECT_EQ(ArgMax<ExactNumeric>(std::vector<double>{nan, 1, nan, 2, 2}), 3u);
  EXPECT_EQ(ArgMax<ExactNumeric>(std::vector<double>{-1e31, -2e30, nan}), 0u);
  EXPECT_EQ(ArgMax<ExactNumeric>(std::vector<double>{-INFINITY, -5}), 1u);
  EXPECT_EQ(ArgMax<ExactNumeric>(std::vector<double>{1, INFINITY}), 1u);
}

TEST(MarginTest, BestMinusSecond) {
  EXPECT_EQ(Margin<ExactNumeric>(std::vector<double>{1, 5, 3}), 2);
  EXPECT_EQ(Margin<ExactNumeric>(std::vector<double>{5, 5}), 0);
  EXPECT_EQ(Margin<ExactNumeric>(std::vector<double>{5}), 0);
}

RopeConfig Rope(double theta) {
  RopeConfig rope;
  rope.theta = theta;
  return rope;
}

TEST(RopeTest, HandVectors) {
  DM_ASSERT_OK_AND_ASSIGN(const RopeTable table, MakeRopeTable(Rope(10000), 2));
  std::vector<double> head = {0.25, -3};
  RotateHead<ExactNumeric>(table, 0, head);
  EXPECT_EQ(head, (std::vector<double>{0.25, -3}));
  head = {1, 0};
  RotateHead<ExactNumeric>(table, 1, head);
  EXPECT_DOUBLE_EQ(head[0], std::cos(1.0));
  EXPECT_DOUBLE_EQ(head[1], std::sin(1.0));
}

TEST(RopeTest, PairsAreHalvesNotNeighbours) {
  DM_ASSERT_OK_AND_ASSIGN(const RopeTable table, MakeRopeTable(Rope(100), 4));
  std::vector<double> head = {1, 10, 100, 1000};
  RotateHead<ExactNumeric>(table, 3, head);
  const double slow = 3 / 10.0;  // second pair: 100^(-2/4)
  EXPECT_DOUBLE_EQ(head[0], std::cos(3.0) - 100 * std::sin(3.0));
  EXPECT_DOUBLE_EQ(head[2], 100 * std::cos(3.0) + std::sin(3.0));
  EXPECT_DOUBLE_EQ(head[1], 10 * std::cos(slow) - 1000 * std::sin(slow));
  EXPECT_DOUBLE_EQ(head[3], 1000 * std::cos(slow) + 10 * std::sin(slow));
}

TEST(RopeTest, PartialRotaryWithBothPairings) {
  RopeConfig rope = Rope(10000);
  rope.partial_rotary_factor = 0.5;  // rotary width 4 of 8
  const std::vector<double> before = {1, 2, 3, 4, 5, 6, 7, 8};
  for (const RopePairing pairing : {RopePairing::kHalfOfRotary, RopePairing::kHalfOfHead}) {
    rope.pairing = pairing;
    DM_ASSERT_OK_AND_ASSIGN(const RopeTable table, MakeRopeTable(rope, 8));
    const std::size_t partner = pairing == RopePairing::kHalfOfRotary ? 2 : 4;
    std::vector<double> head = before;
    RotateHead<ExactNumeric>(table, 2, head);
    for (std::size_t i = 0; i < 8; ++i) {
      const bool turned = i < 2 || (i >= partner && i < partner + 2);
      EXPECT_EQ(head[i] != before[i], turned) << i;
    }
    EXPECT_DOUBLE_EQ(head[0], before[0] * std::cos(2.0) - before[partner] * std::sin(2.0));
  }
}

TEST(RopeTest, YarnFrequenciesAndAmplitude) {
  RopeConfig rope = Rope(10000);
  rope.type = "yarn";
  rope.factor = 4;
  rope.original_max_position_embeddings = 1024;
  DM_ASSERT_OK_AND_ASSIGN(const RopeTable yarn, MakeRopeTable(rope, 32));
  DM_ASSERT_OK_AND_ASSIGN(const RopeTable plain, MakeRopeTable(Rope(10000), 32));
  // dim(32) = 32 ln(1024/(64 pi)) / (2 ln 10000) = 2.8..., dim(1) = 8.8...: ramp from pair 2 to
  // pair 9.
  EXPECT_EQ(yarn.frequency[0], plain.frequency[0]);
  EXPECT_EQ(yarn.frequency[2], plain.frequency[2]);
  EXPECT_DOUBLE_EQ(yarn.frequency[9], plain.frequency[9] / 4);
  EXPECT_DOUBLE_EQ(yarn.frequency[15], plain.frequency[15] / 4);
  const double ramp = (5.0 - 2) / (9 - 2);
  EXPECT_DOUBLE_EQ(yarn.frequency[5], plain.frequency[5] * (ramp / 4 + 1 - ramp));
  EXPECT_DOUBLE_EQ(yarn.amplitude, 1 + 0.1 * std::log(4.0));

  // Without truncation the ramp runs between the fractional ends.
  rope.truncate = false;
  DM_ASSERT_OK_AND_ASSIGN(const RopeTable fractional, MakeRopeTable(rope, 32));
  const auto end = [](double turns) {
    return 32 * std::log(1024 / (2 * std::numbers::pi * turns)) / (2 * std::log(10000.0));
  };
  const double fractional_ramp = (5 - end(32)) / (end(1) - end(32));
  EXPECT_DOUBLE_EQ(fractional.frequency[5],
                   plain.frequency[5] * (fractional_ramp / 4 + 1 - fractional_ramp));
  rope.truncate = true;

  rope.mscale = 1;
  rope.mscale_all_dim = 1;
  EXPECT_DOUBLE_EQ(MakeRopeTable(rope, 32)->amplitude, 1);
  rope.mscale_all_dim = 0.5;
  EXPECT_DOUBLE_EQ(MakeRopeTable(rope, 32)->amplitude,
                   (1 + 0.1 * std::log(4.0)) / (1 + 0.05 * std::log(4.0)));
  rope.attention_factor = 1.4158883;
  EXPECT_DOUBLE_EQ(MakeRopeTable(rope, 32)->amplitude, 1.4158883);
  EXPECT_EQ(plain.amplitude, 1);
}

TEST(RopeTest, YarnAtItsEdges) {
  RopeConfig rope = Rope(10000);
  rope.type = "yarn";
  rope.factor = 8;
  DM_ASSERT_OK_AND_ASSIGN(const RopeTable plain, MakeRopeTable(Rope(10000), 32));
  // A short original context: both ends of the ramp fall below pair 0 and are held there.
  rope.original_max_position_embeddings = 4;
  DM_ASSERT_OK_AND_ASSIGN(const RopeTable low, MakeRopeTable(rope, 32));
  EXPECT_EQ(low.frequency[0], plain.frequency[0]);  // ramp 0 at the end itself, not NaN
  for (std::size_t i = 1; i < 16; ++i)
    EXPECT_DOUBLE_EQ(low.frequency[i], plain.frequency[i] / 8) << i;
  // A very long one: the upper end stays at the last dimension (31), so that the ramp still rises.
  rope.original_max_position_embeddings = 1e30;
  rope.beta_fast = 1e24;
  DM_ASSERT_OK_AND_ASSIGN(const RopeTable high, MakeRopeTable(rope, 32));
  const double start =
      std::floor(32 * std::log(1e30 / (2 * std::numbers::pi * 1e24)) / (2 * std::log(10000.0)));
  for (std::size_t i = 0; i < 16; ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - start) / (31 - start), 0.0, 1.0);
    EXPECT_DOUBLE_EQ(high.frequency[i], plain.frequency[i] * (ramp / 8 + 1 - ramp)) << i;
  }
}

TEST(RopeTest, Bf16UsesFp32AnglesAndRoundsOnce) {
  DM_ASSERT_OK_AND_ASSIGN(const RopeTable table, MakeRopeTable(Rope(1e6), 64));
  const std::vector<BFloat16> before = RandomBf16(7, 64, 3);
  std::vector<BFloat16> head = before;
  constexpr std::int64_t kPosition = 262143;
  RotateHead<Bf16Numeric>(table, kPosition, head);
  for (std::size_t i = 0; i < 32; ++i) {
    const float angle = static_cast<float>(kPosition) *
                        static_cast<float>(std::pow(1e6, -2.0 * static_cast<double>(i) / 64));
    const double a = before[i].ToDouble();
    const double b = before[i + 32].ToDouble();
    EXPECT_EQ(head[i],
              BFloat16::FromDouble(a * std::cos(double{angle}) - b * std::sin(double{angle})));
  }
}

TEST(RopeTest, ImpossibleRotaryWidths) {
  RopeConfig rope = Rope(10000);
  for (const double factor : {0.0, 1.5, 3.0 / 16}) {
    rope.partial_rotary_factor = factor;
    EXPECT_THAT(MakeRopeTable(rope, 16),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("rotary width")));
  }
}

TEST(VisibilityTest, TableOfSection44) {
  const auto sees = [](bool causal, bool sliding, std::int64_t distance) {
    return Visibility{causal, sliding, 4}.Sees(100, 100 - distance);
  };
  for (const std::int64_t distance : {-50, -4, -3, 0, 3, 4, 50}) {
    EXPECT_TRUE(sees(false, false, distance));
    EXPECT_EQ(sees(false, true, distance), std::abs(distance) < 4) << distance;
    EXPECT_EQ(sees(true, true, distance), distance >= 0 && distance < 4) << distance;
    EXPECT_EQ(sees(true, false, distance), distance >= 0) << distance;
  }
}

// A cache with memory of its own, filled with one value.
class TestCache {
 public:
  TestCache(std::uint64_t blocks, std::uint64_t row_width, double fill)
      : keys_(blocks * kCacheBlockRows * row_width, fill),
        values_(keys_),
        cache_(1, blocks, row_width, keys_.data(), values_.data()) {}
  PagedCache<double>& operator*() { return cache_; }
  PagedCache<double>* operator->() { return &cache_; }

 private:
  std::vector<double> keys_, values_;
  PagedCache<double> cache_;
};

TEST(PagedCacheTest, SlotArithmeticAndSkippedRows) {
  const std::vector<std::uint32_t> table = {7, 2};
  EXPECT_EQ(SlotOf(table, 17), 33);
  EXPECT_EQ(SlotOf(table, 0), 112);
  TestCache cache(8, 2, 42.0);
  cache->Write(0, 33, std::vector<double>{1, 2}, std::vector<double>{3, 4});
  cache->Write(0, -1, std::vector<double>{9, 9}, std::vector<double>{9, 9});
  EXPECT_EQ(cache->Key(0, 33)[1], 2);
  EXPECT_EQ(cache->Value(0, 33)[0], 3);
  for (std::int64_t slot = 0; slot < 8 * 16; ++slot) {
    EXPECT_EQ(cache->Key(0, slot)[0], slot == 33 ? 1.0 : 42.0) << slot;
  }
}

TEST(AttentionTest, EqualKeysGiveTheMeanOfTheValues) {
  TestCache cache(1, 2, std::nan(""));
  for (std::int64_t m = 0; m < 4; ++m) {
    cache->Write(0, m, std::vector<double>{1, 1}, std::vector<double>{static_cast<double>(m), 10});
  }
  std::vector<double> out(2);
  PagedAttention<ExactNumeric>(std::vector<double>{3, -2}, {1, 1, 2}, *cache, 0,
                               std::vector<std::uint32_t>{0}, std::vector<std::int64_t>{3},
                               std::vector<std::int64_t>{0, 1, 2, 3}, {}, out);
  EXPECT_DOUBLE_EQ(out[0], 1.5);
  EXPECT_DOUBLE_EQ(out[1], 10);
}

TEST(AttentionTest, QueryHeadsReadTheirGroupsHeadForOddRatios) {
  for (const std::size_t ratio : {1u, 5u, 9u}) {
    constexpr std::size_t kKvHeads = 3;
    TestCache cache(1, kKvHeads, 0.0);
    cache->Write(0, 0, std::vector<double>{1, 1, 1}, std::vector<double>{100, 200, 300});
    const std::size_t heads = ratio * kKvHeads;
    std::vector<double> out(heads);
    PagedAttention<ExactNumeric>(std::vector<double>(heads, 1.0), {heads, kKvHeads, 1}, *cache, 0,
                                 std::vector<std::uint32_t>{0}, std::vector<std::int64_t>{0},
                                 std::vector<std::int64_t>{0}, {}, out);
    for (std::size_t head = 0; head < heads; ++head) {
      const std::size_t kv_head = head / ratio;
      EXPECT_EQ(out[head], 100.0 * static_cast<double>(kv_head + 1)) << head;
    }
  }
}

TEST(AttentionTest, RowThatSeesNothingGivesZero) {
  TestCache cache(1, 1, 5.0);
  std::vector<double> out = {-1};
  PagedAttention<ExactNumeric>(std::vector<double>{1}, {1, 1, 1}, *cache, 0,
                               std::vector<std::uint32_t>{0}, std::vector<std::int64_t>{0},
                               std::vector<std::int64_t>{9}, {true, false, 0}, out);
  EXPECT_EQ(out[0], 0);
}

// Zeros there would hide broken weights behind plausible drafts.
TEST(AttentionTest, RowThatSeesANanGivesNan) {
  const std::vector<std::vector<double>> pairs = {{NAN, NAN}, {NAN, 1}, {1, NAN}};
  for (const std::vector<double>& keys : pairs) {
    TestCache cache(1, 1, 0.0);
    for (std::uint32_t m = 0; m < 2; ++m)
      cache->Write(0, m, std::vector<double>{keys[m]}, std::vector<double>{6});
    for (const std::vector<BFloat16>& sinks : {Bf16({}), Bf16({0.5})}) {
      std::vector<double> out(1);
      PagedAttention<ExactNumeric>(std::vector<double>{2}, {1, 1, 1, sinks}, *cache, 0,
                                   std::vector<std::uint32_t>{0}, std::vector<std::int64_t>{1},
                                   std::vector<std::int64_t>{0, 1}, {}, out);
      EXPECT_TRUE(std::isnan(out[0])) << out[0];
    }
  }
}

TEST(AttentionTest, SinkJoinsTheDenominatorOnly) {
  TestCache cache(1, 1, 0.0);
  cache->Write(0, 0, std::vector<double>{1}, std::vector<double>{6});
  const std::vector<BFloat16> sinks = Bf16({0.5, 200});
  std::vector<double> out(2);
  PagedAttention<ExactNumeric>(std::vector<double>{2, 2}, {2, 1, 1, sinks}, *cache, 0,
                               std::vector<std::uint32_t>{0}, std::vector<std::int64_t>{0},
                               std::vector<std::int64_t>{0}, {}, out);
  EXPECT_DOUBLE_EQ(out[0], 6 / (1 + std::exp(0.5 - 2)));
  EXPECT_NEAR(out[1], 0, 1e-80);  // the sink takes all, without overflow
}

TEST(AttentionTest, HugeSinkDoesNotOverflow) {
  TestCache cache(1, 1, 0.0);
  cache->Write(0, 0, std::vector<double>{1}, std::vector<double>{6});
  const std::vector<BFloat16> sinks = Bf16({4096});  // exp(4096) is no double
  std::vector<double> out(1);
  PagedAttention<ExactNumeric>(std::vector<double>{2}, {1, 1, 1, sinks}, *cache, 0,
                               std::vector<std::uint32_t>{0}, std::vector<std::int64_t>{0},
                               std::vector<std::int64_t>{0}, {}, out);
  EXPECT_EQ(out[0], 0);
}

TEST(AttentionTest, OutputIsRoundedToNearestEven) {
  // Equal keys: the mean of the values, chosen to lie between BF16 numbers.
  std::vector<BFloat16> keys(16 * 2, BFloat16::FromDouble(1)), values(16 * 2);
  const double ulp = std::ldexp(1, -7);
  const std::vector<std::pair<double, double>> pairs = {
      {1, 1 + ulp}, {1 + ulp, 1 + 2 * ulp}};  // midpoints: down, up
  for (std::size_t m = 0; m < 2; ++m) {
    values[m * 2] = BFloat16::FromDouble(m == 0 ? pairs[0].first : pairs[0].second);
    values[m * 2 + 1] = BFloat16::FromDouble(m == 0 ? pairs[1].first : pairs[1].second);
  }
  const PagedCache<BFloat16> cache(1, 1, 2, keys.data(), values.data());
  std::vector<BFloat16> out(2);
  PagedAttention<Bf16Numeric>(Bf16({1, 1}), {1, 1, 2}, cache, 0, std::vector<std::uint32_t>{0},
                              std::vector<std::int64_t>{1}, std::vector<std::int64_t>{0, 1}, {},
                              out);
  EXPECT_EQ(out[0].ToDouble(), 1);
  EXPECT_EQ(out[1].ToDouble(), 1 + 2 * ulp);  // truncation would give 1 + ulp
}

TEST(AttentionTest, LargeScoresDoNotOverflow) {
  TestCache cache(1, 1, 0.0);
  cache->Write(0, 0, std::vector<double>{1000}, std::vector<double>{7});
  cache->Write(0, 1, std::vector<double>{-1000}, std::vector<double>{9});
  std::vector<double> out(1);
  PagedAttention<ExactNumeric>(std::vector<double>{1000}, {1, 1, 1}, *cache, 0,
                               std::vector<std::uint32_t>{0}, std::vector<std::int64_t>{1},
                               std::vector<std::int64_t>{0, 1}, {}, out);
  EXPECT_EQ(out[0], 7);
}

}  // namespace
}  // namespace draftmark::reference
