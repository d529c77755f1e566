// Convolution, selector, Markov and confidence heads, prefix rules: hand-checked vectors of
// spec/drafter.md section 12 and direct formulas.
#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/reference/conv.h"
#include "src/reference/markov.h"
#include "src/reference/prefix_rules.h"
#include "src/reference/selector.h"
#include "src/weights/random_drafter.h"

namespace draftmark::reference {
namespace {

using ::testing::ElementsAre;

Bf16Matrix Matrix(std::size_t rows, std::initializer_list<double> values) {
  std::vector<BFloat16> stored;
  for (const double value : values) stored.push_back(BFloat16::FromDouble(value));
  const std::size_t cols = stored.size() / rows;
  return Bf16Matrix(rows, cols, std::move(stored));
}

// --- Convolution

const std::vector<double> kRows = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

TEST(ConvTest, HandVector) {
  // base = [[1, 1, 1, 1], [2, 2, 2, 2]] on both sides, no dynamic part.
  const Bf16Matrix base = Matrix(4, {1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1, 2, 2, 2, 2});
  const std::vector<double> dynamic(3 * 2 * 2 * 2, 0.0);
  std::vector<double> out(12);
  ApplyConv<ExactNumeric>(kRows, dynamic, base, ConvSide::kPrepare, 2, 2, 3, out);
  EXPECT_THAT(out, ElementsAre(1, 2, 3, 4, 7, 10, 13, 16, 19, 22, 25, 28));
  // Bands of one row: only the first tap.
  ApplyConv<ExactNumeric>(kRows, dynamic, base, ConvSide::kFinish, 2, 2, 1, out);
  EXPECT_EQ(out, kRows);
}

TEST(ConvTest, CoefficientsComeFromSideTapGroupAndTheOutputRow) {
  // All base zero; one dynamic coefficient at a time, so that every index is checked.
  constexpr std::size_t kTaps = 3, kGroup = 2, kGroups = 2, kH = 4, kBand = 4;
  const Bf16Matrix base(2 * kTaps, kH, std::vector<BFloat16>(2 * kTaps * kH));
  std::vector<double> in(kBand * kH);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<double>(i + 1);
  for (std::size_t t = 0; t < kBand; ++t) {
    for (std::size_t side = 0; side < 2; ++side) {
      for (std::size_t o = 0; o < kTaps; ++o) {
        for (std::size_t g = 0; g < kGroups; ++g) {
          std::vector<double> dynamic(kBand * 2 * kTaps * kGroups, 0.0);
          dynamic[((t * 2 + side) * kTaps + o) * kGroups + g] = 1;
          std::vector<double> out(in.size());
          ApplyConv<ExactNumeric>(in, dynamic, base, static_cast<ConvSide>(side), kTaps, kGroup,
                                  kBand, out);
          for (std::size_t row = 0; row < kBand; ++row) {
            for (std::size_t c = 0; c < kH; ++c) {
              const bool hit = row == t && c / kGroup == g && t >= o;
              EXPECT_EQ(out[row * kH + c], hit ? in[(row - o) * kH + c] : 0.0);
            }
          }
        }
      }
    }
  }
}

TEST(ConvTest, NothingLeaksAcrossBands) {
  const Bf16Matrix base = Matrix(4, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  std::vector<double> in = {1, 1, 1, 1, 1, 1, 1, 1, 1e9, 1e9, 1e9, 1e9, 1, 1, 1, 1};
  const std::vector<double> dynamic(4 * 2 * 2 * 2, 0.0);
  std::vector<double> out(16);
  ApplyConv<ExactNumeric>(in, dynamic, base, ConvSide::kPrepare, 2, 2, 2, out);
  EXPECT_EQ(out[4], 2);
  EXPECT_EQ(out[8], 1e9);  // row 0 of the second band: nothing of the first
}

TEST(ConvTest, OneRounding) {
  const Bf16Matrix base = Matrix(4, {1, 1, std::ldexp(1, -9), std::ldexp(1, -9), 0, 0, 0, 0});
  const std::vector<BFloat16> in(4, BFloat16::FromDouble(1.0078125));
  std::vector<BFloat16> dynamic(2 * 2 * 2 * 1);
  for (BFloat16& d : dynamic) d = BFloat16::FromDouble(std::ldexp(1, -9));
  std::vector<BFloat16> out(4);
  ApplyConv<Bf16Numeric>(in, dynamic, base, ConvSide::kPrepare, 2, 2, 2, out);
  const double exact = (1 + std::ldexp(1, -9)) * 1.0078125 + std::ldexp(1, -8) * 1.0078125;
  EXPECT_EQ(out[2], BFloat16::FromDouble(exact));
  EXPECT_NE(out[2], BFloat16::FromDouble(1.0078125));  // as rounding after each tap would give
}

// --- Top-16 and the walk

TEST(TopKTest, DescendingWithTheLowestIdFirst) {
  const std::vector<double> logits = {1, 5, 3, 5, -2, 3};
  const Candidates c = TopK<ExactNumeric>(logits, 4);
  EXPECT_THAT(c.ids, ElementsAre(1, 3, 2, 5));
  EXPECT_THAT(c.values, ElementsAre(5, 5, 3, 3));
  EXPECT_EQ(c.gap, 2);
}

TEST(TopKTest, PadsWhatIsNoCandidate) {
  const std::vector<double> logits = {std::nan(""), 2, -1e31, -INFINITY, 4};
  const Candidates c = TopK<ExactNumeric>(logits, 4);
  EXPECT_THAT(c.ids, ElementsAre(4, 1, 0, 0));
  EXPECT_THAT(c.values, ElementsAre(4, 2, -1e30, -1e30));
  EXPECT_EQ(c.gap, 0);
}

TEST(SelectorTest, ZeroCodebooksGiveTheArgmax) {
  const Bf16Matrix zero(3, 2, std::vector<BFloat16>(6));
  const std::vector<double> hidden = {1, 1};
  const Candidates c = TopK<ExactNumeric>(std::vector<double>{1, 2, 5}, 3);
  EXPECT_THAT(SelectorScores<ExactNumeric>(c, 2, hidden, zero, zero), ElementsAre(5, 2, 1));
}

TEST(SelectorTest, ScoreIsTheGatedProductOfTheCodes) {
  const Bf16Matrix predecessor = Matrix(3, {1, 2, 3, 4, 5, 6});
  const Bf16Matrix successor = Matrix(3, {7, 8, 9, 10, 11, 12});
  const std::vector<double> hidden = {0.5, -1};
  const Candidates c = TopK<ExactNumeric>(std::vector<double>{1, 2, 0}, 3);  // ids 1, 0, 2
  // predecessor[2] * H = (2.5, -6)
  EXPECT_THAT(SelectorScores<ExactNumeric>(c, 2, hidden, predecessor, successor),
              ElementsAre(2 + 9 * 2.5 - 60, 1 + 7 * 2.5 - 48, 0 + 11 * 2.5 - 72));
}

// --- Markov and confidence

template <typename N>
std::vector<typename N::Storage> Embedding(const MarkovWalk<N>& walk, std::uint32_t previous,
                                           std::size_t rank) {
  std::vector<typename N::Storage> e(rank);
  walk.Gather(previous, e);
  return e;
}

template <typename N>
std::vector<typename N::Storage> Bias(MarkovWalk<N>& walk,
                                      const std::vector<typename N::Storage>& e,
                                      const std::vector<typename N::Storage>& hidden,
                                      std::size_t vocabulary) {
  std::vector<typename N::Storage> bias(vocabulary);
  walk.Bias(e, hidden, bias);
  return bias;
}

TEST(MarkovTest, VanillaIsTheProductOfTheEmbeddingRoundedOnce) {
  MarkovWeights weights;
  weights.w1 = Bf16Matrix(5, 4, RandomBf16(1, 20, 1));
  weights.w2 = Bf16Matrix(5, 4, RandomBf16(2, 20, 1));
  MarkovWalk<Bf16Numeric> walk(weights);
  const std::vector<BFloat16> e = Embedding(walk, 3, 4);
  EXPECT_EQ(e, std::vector<BFloat16>(weights.w1.row(3).begin(), weights.w1.row(3).end()));
  const std::vector<BFloat16> bias = Bias(walk, e, {}, 5);
  for (std::size_t v = 0; v < 5; ++v) {
    double sum = 0;
    for (std::size_t r = 0; r < 4; ++r) sum += weights.w2.row(v)[r].ToDouble() * e[r].ToDouble();
    EXPECT_EQ(bias[v], BFloat16::FromDouble(sum));
  }
}

TEST(MarkovTest, GatedFormula) {
  MarkovWeights weights;
  weights.type = MarkovType::kGated;
  weights.w1 = Matrix(2, {1, 2, 3, 4});
  weights.w2 = Matrix(2, {1, 0, 0, 1});
  weights.gate_proj =
      Matrix(2, {1, 0, 0, 0, 0, 0.5});  // [r, h + r], h = 1: gate0 = y, gate1 = 0.5 e_1
  weights.gate_bias = Matrix(1, {0.25, -1});
  MarkovWalk<ExactNumeric> walk(weights);
  const std::vector<double> bias = Bias(walk, Embedding(walk, 1, 2), {2}, 2);
  EXPECT_DOUBLE_EQ(bias[0], Sigmoid(2.25) * 3);
  EXPECT_DOUBLE_EQ(bias[1], Sigmoid(0.5 * 4 - 1) * 4);
}

TEST(MarkovTest, RnnCarriesItsState) {
  MarkovWeights weights;
  weights.type = MarkovType::kRnn;
  weights.w1 = Matrix(2, {0.5, 2});
  weights.w2 = Matrix(2, {1, 10});
  // [s; e; y] with r = h = 1: g = s + e, c = e + y, o = 3 s + y.
  weights.joint_proj = Matrix(3, {1, 1, 0, 0, 1, 1, 3, 0, 1});
  weights.joint_bias = Matrix(1, {0, 0.5, 0});
  MarkovWalk<ExactNumeric> walk(weights);
  const std::vector<double> first = Bias(walk, Embedding(walk, 0, 1), {0.25}, 2);
  EXPECT_DOUBLE_EQ(first[0], std::tanh(0.25));  // s_0 = 0
  const double state = (1 - Sigmoid(0.5)) * std::tanh(0.5 + 0.25 + 0.5);
  const std::vector<double> second = Bias(walk, Embedding(walk, 1, 1), {-1}, 2);
  EXPECT_DOUBLE_EQ(second[1], 10 * std::tanh(3 * state - 1));
}

TEST(ConfidenceTest, HiddenColumnsFirstOneRounding) {
  ConfidenceWeights weights;
  weights.proj = Matrix(1, {1, 2, std::ldexp(1, -8)});
  weights.bias = Matrix(1, {std::ldexp(1, -12)});
  const std::vector<BFloat16> hidden = {BFloat16::FromDouble(1), BFloat16::FromDouble(0)};
  const std::vector<BFloat16> embedding = {BFloat16::FromDouble(1)};
  // 1 + 2^-8 + 2^-12 lies above the midpoint; rounded in parts it would end at 1.
  EXPECT_EQ(ConfidenceLogit<Bf16Numeric>(weights, hidden, embedding).ToDouble(),
            1 + std::ldexp(1, -7));
}

// --- Prefix rules

TEST(PrefixRulesTest, Threshold) {
  EXPECT_EQ(ThresholdPrefix(std::vector<double>{3, 0, -1}, 0.5), 2u);  // sigmoid(0) = 0.5 is kept
  EXPECT_EQ(ThresholdPrefix(std::vector<double>{3, 0, -1}, 0), 3u);
  EXPECT_EQ(ThresholdPrefix(std::vector<double>{-1, 5}, 0.5), 0u);
  EXPECT_EQ(ThresholdPrefix(std::vector<double>{3, -1, 5}, 0.5), 1u);  // the first row below cuts
  EXPECT_EQ(ThresholdPrefix(std::vector<double>{}, 0.5), 0u);
}

TEST(PrefixRulesTest, Survival) {
  EXPECT_EQ(SurvivalPrefix(std::vector<double>{0.9, 0.8, 0.5}, 0.4), 2u);
  EXPECT_EQ(SurvivalPrefix(std::vector<double>{0.9, 0.8, 0.5}, 0.36), 3u);
  EXPECT_EQ(SurvivalPrefix(std::vector<double>{0.3}, 0.4), 0u);
}

TEST(PrefixRulesTest, ScheduleStopsWhereThroughputFalls) {
  const auto linear_cost = [](std::size_t tokens) {
    return 1 / (1 + 0.5 * static_cast<double>(tokens));
  };
  // R = 2: throughput 2 * SPS(2) = 1; + 0.9: 2.9 / 2.5 = 1.16; + 0.8: 3.7 / 3 = 1.2333; + 0.5: 4.2
  // / 3.5 = 1.2, stop.
  const std::vector<std::vector<double>> survival = {{0.9, 0.5}, {0.8, 0.1}};
  EXPECT_THAT(ScheduledPrefixes(survival, linear_cost), ElementsAre(1, 1));
  // With tokens for free everything that may survive is kept.
  EXPECT_THAT(ScheduledPrefixes(survival, [](std::size_t) { return 1.0; }), ElementsAre(2, 2));
  EXPECT_THAT(ScheduledPrefixes(std::vector<std::vector<double>>{{0.5, 0}},
                                [](std::size_t) { return 1.0; }),
              ElementsAre(1));
}

TEST(PrefixRulesTest, ScheduleBreaksTiesByRequestThenDraft) {
  // Room for exactly one more token.
  const auto one_more = [](std::size_t tokens) { return tokens <= 4 ? 1.0 : 0.0; };
  const std::vector<std::vector<double>> survival = {{0.5}, {0.7, 0.7}, {0.7}};
  EXPECT_THAT(ScheduledPrefixes(survival, one_more), ElementsAre(0, 1, 0));
}

}  // namespace
}  // namespace draftmark::reference
