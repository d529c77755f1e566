// What no oracle case reaches, in whole drafts: partial rotary, YaRN's amplitude, attention sinks,
// a separate mask embedding, exact ties. Expected values come from the formulas of spec/drafter.md
// written out here, or from another drafter that must give the same.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "src/base/status_matchers.h"
#include "src/reference/draft_testing.h"

namespace draftmark::reference {
namespace {

using ::testing::Each;

using Draft = std::map<std::string, std::vector<double>>;
constexpr std::size_t kContext = 20, kRows = 5, kKeys = kContext + kRows;

class DraftTest : public ::testing::TestWithParam<Precision> {};
INSTANTIATE_TEST_SUITE_P(Precisions, DraftTest,
                         ::testing::Values(Precision::kExact, Precision::kBf16),
                         [](const auto& run) { return std::string(PrecisionName(run.param)); });

void ExpectNear(const std::vector<double>& got, const std::vector<double>& expected,
                double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], tolerance) << what << " " << i;
}

std::shared_ptr<DrafterWeights> Weights(const DrafterConfig& config) {
  return std::make_shared<DrafterWeights>(*RandomWeights(config, 11));
}

// Section 4.3: `pairs` pairs (i, i + partner) of every head of width 16, rows at positions
// first, first + 1, ...
std::vector<double> Rotated(std::vector<double> rows, std::size_t heads, double first,
                            const std::vector<double>& frequency, std::size_t partner) {
  for (std::size_t head = 0; head < rows.size() / 16; ++head) {
    const std::size_t row = head / heads;
    const double position = first + static_cast<double>(row);
    for (std::size_t i = 0; i < frequency.size(); ++i) {
      const double angle = position * frequency[i];
      const double x = rows[head * 16 + i];
      const double y = rows[head * 16 + i + partner];
      rows[head * 16 + i] = x * std::cos(angle) - y * std::sin(angle);
      rows[head * 16 + i + partner] = y * std::cos(angle) + x * std::sin(angle);
    }
  }
  return rows;
}

// Section 4.4 for the full non-causal layer 1: every row sees every key.
std::vector<double> Attention(const std::vector<double>& q, const std::vector<double>& k,
                              const std::vector<double>& v, const std::vector<double>& sinks) {
  std::vector<double> out;
  for (std::size_t head = 0; head < kRows * 6; ++head) {
    const std::size_t kv_head = head % 6 / 3;
    std::vector<double> p(kKeys);
    double total = sinks.empty() ? 0 : std::exp(sinks[head % 6]);
    for (std::size_t m = 0; m < kKeys; ++m) {
      p[m] = std::exp(
          std::inner_product(&q[head * 16], &q[head * 16] + 16, &k[(m * 2 + kv_head) * 16], 0.0) /
          4);
      total += p[m];
    }
    for (std::size_t e = 0; e < 16; ++e) {
      double sum = 0;
      for (std::size_t m = 0; m < kKeys; ++m) sum += p[m] * v[(m * 2 + kv_head) * 16 + e];
      out.push_back(sum / total);
    }
  }
  return out;
}

// --- Partial rotary embedding

const std::vector<double> kPartialFrequencies = {1, std::pow(1e4, -0.25), std::pow(1e4, -0.5),
                                                 std::pow(1e4, -0.75)};  // rotary width 8

TEST(PartialRotaryTest, KeysQueriesAndTheirAttentionFollowBothPairings) {
  DrafterConfig config = SmallDrafterConfig();
  config.rope.partial_rotary_factor = 0.5;
  for (const RopePairing pairing : {RopePairing::kHalfOfRotary, RopePairing::kHalfOfHead}) {
    config.rope.pairing = pairing;
    const std::size_t partner = pairing == RopePairing::kHalfOfRotary ? 4 : 8;
    const Draft draft = DraftOnce(config, Weights(config), Precision::kExact);
    for (const std::string layer : {"layers.0.", "layers.1."}) {
      // Context rows come first: positions 0 to 24 without a gap.
      ExpectNear(draft.at(layer + "k_new"),
                 Rotated(draft.at(layer + "k_norm"), 2, 0, kPartialFrequencies, partner), 1e-12,
                 layer);
    }
    const std::vector<double> q =
        Rotated(draft.at("layers.1.q_norm"), 6, kContext, kPartialFrequencies, partner);
    ExpectNear(draft.at("layers.1.attn_out"),
               Attention(q, draft.at("layers.1.k_new"), draft.at("layers.1.v_new"), {}), 1e-12,
               "attn_out");
  }
}

// Elements 4..7 and 8..11 of every head of 16 rows change places.
Bf16Matrix SwapMiddle(const Bf16Matrix& weight) {
  const std::size_t row = weight.values().size() / weight.rows();
  const std::size_t unit = weight.rows() == 1 ? 1 : row;  // a norm's elements, or a matrix's rows
  std::vector<BFloat16> values(weight.values().begin(), weight.values().end());
  for (std::size_t head = 0; head < values.size(); head += 16 * unit) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(head + 4 * unit);
    std::swap_ranges(begin, begin + static_cast<std::ptrdiff_t>(4 * unit),
                     begin + static_cast<std::ptrdiff_t>(4 * unit));
  }
  return Bf16Matrix(weight.rows(), row, std::move(values));
}

TEST(PartialRotaryTest, OnePairingIsTheOtherWithItsHeadsRearranged) {
  DrafterConfig config = SmallDrafterConfig();
  config.rope.partial_rotary_factor = 0.5;
  config.rope.pairing = RopePairing::kHalfOfHead;
  const auto weights = Weights(config);
  const Draft by_head = DraftOnce(config, weights, Precision::kExact);
  for (LayerWeights& layer : weights->layers) {
    for (Bf16Matrix* w : {&layer.q_proj, &layer.k_proj, &layer.q_norm, &layer.k_norm})
      *w = SwapMiddle(*w);
  }
  config.rope.pairing = RopePairing::kHalfOfRotary;
  const Draft by_rotary = DraftOnce(config, weights, Precision::kExact);
  ExpectNear(by_rotary.at("logits"), by_head.at("logits"), 1e-11, "logits");
  EXPECT_EQ(by_rotary.at("draft_tokens"), by_head.at("draft_tokens"));
  EXPECT_NE(by_rotary.at("layers.0.k_new"), by_head.at("layers.0.k_new"));
}

// --- YaRN

DrafterConfig YarnConfig(double factor) {
  DrafterConfig config = SmallDrafterConfig();
  config.rope.type = "yarn";
  config.rope.factor = factor;
  config.rope.original_max_position_embeddings = 64;
  return config;
}

TEST(YarnTest, FactorOneIsPlainRope) {
  const Draft yarn = DraftOnce(YarnConfig(1), Weights(YarnConfig(1)), Precision::kExact);
  const DrafterConfig config = SmallDrafterConfig();
  const Draft plain = DraftOnce(config, Weights(config), Precision::kExact);
  ExpectNear(yarn.at("logits"), plain.at("logits"), 1e-12, "logits");
  EXPECT_EQ(yarn.at("draft_tokens"), plain.at("draft_tokens"));
}

TEST_P(DraftTest, AnAmplitudeOfTwoIsFourTimesTheQueries) {
  // Queries and keys both carry it, so every score grows by its square; powers of two round
  // nothing.
  DrafterConfig config = YarnConfig(8);
  config.rope.attention_factor = 2;
  const auto weights = Weights(config);
  Draft twice = DraftOnce(config, weights, GetParam());
  config.rope.attention_factor = 1;
  const Draft once = DraftOnce(config, weights, GetParam());
  EXPECT_NE(twice.at("logits"), once.at("logits"));
  for (LayerWeights& layer : weights->layers) {
    std::vector<BFloat16> larger;
    for (const BFloat16 w : layer.q_norm.values())
      larger.push_back(BFloat16::FromDouble(4 * w.ToDouble()));
    layer.q_norm = Bf16Matrix(1, 16, std::move(larger));
  }
  Draft queries = DraftOnce(config, weights, GetParam());
  for (const std::string layer : {"layers.0.", "layers.1."}) {
    for (double& value : queries.at(layer + "k_new")) value *= 2;
    for (double& value : twice.at(layer + "q_norm")) value *= 4;
  }
  EXPECT_EQ(twice, queries);  // every stage, bit for bit
}

TEST(YarnTest, AmplitudeOfTheKeysOfAConfig) {
  // ln s = 10, so that m(z) = 1 + z.
  using Key = std::optional<double>;
  const auto draft = [](Key attention_factor, Key mscale, Key mscale_all_dim) {
    DrafterConfig config = YarnConfig(std::exp(10.0));
    config.rope.attention_factor = attention_factor;
    config.rope.mscale = mscale;
    config.rope.mscale_all_dim = mscale_all_dim;
    return DraftOnce(config, Weights(config), Precision::kExact);
  };
  const auto expect_amplitude = [&](double amplitude, const Draft& got, const std::string& what) {
    const Draft given = draft(amplitude, {}, {});
    ExpectNear(got.at("logits"), given.at("logits"), 1e-10, what);
    EXPECT_EQ(got.at("draft_tokens"), given.at("draft_tokens")) << what;
  };
  expect_amplitude(1.5, draft({}, 5, 3), "(1 + 5) / (1 + 3)");
  expect_amplitude(1, draft({}, 1, 1), "a ratio of 1");
  expect_amplitude(2, draft({}, {}, {}), "1 + 0.1 ln s");
  expect_amplitude(2, draft({}, 5, {}), "1 + 0.1 ln s with one key of the two");
  expect_amplitude(1.25, draft(1.25, 5, 3), "attention_factor wins");
  EXPECT_NE(draft(1, {}, {}).at("logits"), draft(1.5, {}, {}).at("logits"));
}

// --- Attention sinks

TEST_P(DraftTest, SinksFarBelowChangeNothingAndFarAboveTakeAll) {
  const DrafterConfig config = SmallDrafterConfig();
  const Draft without = DraftOnce(config, Weights(config), GetParam());
  const auto with_sinks = [&](double logit) {
    const auto weights = Weights(config);
    for (LayerWeights& layer : weights->layers)
      layer.sinks = Bf16Matrix(1, 6, std::vector<BFloat16>(6, BFloat16::FromDouble(logit)));
    return DraftOnce(config, weights, GetParam());
  };
  EXPECT_EQ(with_sinks(-4096), without);
  const Draft all = with_sinks(4096);
  EXPECT_THAT(all.at("layers.0.attn_out"), Each(0.0));
  EXPECT_THAT(all.at("layers.1.o_proj"), Each(0.0));
  EXPECT_NE(all.at("logits"), without.at("logits"));
}

TEST(SinksTest, EachQueryHeadHasItsOwn) {
  const DrafterConfig config = SmallDrafterConfig();
  const auto weights = Weights(config);
  const std::vector<double> sinks = {-1, 0, 1, 2, 3, 4};
  std::vector<BFloat16> stored;
  stored.reserve(sinks.size());
  for (const double sink : sinks) stored.push_back(BFloat16::FromDouble(sink));
  weights->layers[1].sinks = Bf16Matrix(1, 6, stored);
  const Draft draft = DraftOnce(config, weights, Precision::kExact);
  std::vector<double> frequency;
  frequency.reserve(8);
  for (int i = 0; i < 8; ++i) frequency.push_back(std::pow(1e4, -i / 8.0));
  const std::vector<double> q = Rotated(draft.at("layers.1.q_norm"), 6, kContext, frequency, 8);
  ExpectNear(draft.at("layers.1.attn_out"),
             Attention(q, draft.at("layers.1.k_new"), draft.at("layers.1.v_new"), sinks), 1e-12,
             "attn_out");
}

// --- Mask embedding

TEST_P(DraftTest, AMaskEmbeddingReplacesTheRowOfTheMaskTokenOnMaskRows) {
  const DrafterConfig config = SmallDrafterConfig();
  const std::vector<BFloat16> mask = RandomBf16(77, 48, 1);
  const auto shipped = Weights(config);
  shipped->mask_embedding = Bf16Matrix(1, 48, mask);
  // The same vector as row 100, the mask token's, of the embedding.
  const auto in_table = Weights(config);
  std::vector<BFloat16> table(in_table->embed.values().begin(), in_table->embed.values().end());
  std::copy(mask.begin(), mask.end(), table.begin() + 100 * 48);
  in_table->embed = Bf16Matrix(101, 48, std::move(table));
  const Draft draft = DraftOnce(config, shipped, GetParam());
  EXPECT_EQ(draft, DraftOnce(config, in_table, GetParam()));
  EXPECT_NE(draft, DraftOnce(config, Weights(config), GetParam()));
  // An anchor that happens to be the mask token is no mask row.
  const auto first_row = [](const Draft& d) {
    const std::vector<double>& rows = d.at("layers.0.input_layernorm");
    return std::vector<double>(rows.begin(), rows.begin() + 48);
  };
  EXPECT_EQ(first_row(DraftOnce(config, shipped, GetParam(), 100)),
            first_row(DraftOnce(config, Weights(config), GetParam(), 100)));
}

// --- Exact ties

constexpr std::size_t kPeriod = 33;

// Row t becomes row t mod 33, so that the ids t, t + 33 and t + 66 tie in whatever it feeds.
Bf16Matrix Tied(const Bf16Matrix& weight) {
  std::vector<BFloat16> values;
  for (std::size_t row = 0; row < weight.rows(); ++row) {
    const auto same = weight.row(row % kPeriod);
    values.insert(values.end(), same.begin(), same.end());
  }
  return Bf16Matrix(weight.rows(), weight.cols(), std::move(values));
}

TEST_P(DraftTest, TheLowestOfTiedTokensIsDrafted) {
  const DrafterConfig config = SmallDrafterConfig();
  const auto weights = Weights(config);
  weights->lm_head = Tied(weights->lm_head);
  const Draft draft = DraftOnce(config, weights, GetParam());
  EXPECT_THAT(draft.at("margin"), Each(0.0));
  for (std::size_t row = 1; row < kRows; ++row) {
    const double* const logits = &draft.at("logits")[row * 101];
    const std::size_t first = static_cast<std::size_t>(std::max_element(logits, logits + kPeriod) -
                                                       logits);  // the first of equal ones
    ASSERT_EQ(logits[first], logits[first + kPeriod]);
    EXPECT_EQ(draft.at("draft_tokens")[row - 1], static_cast<double>(first));
  }
}

TEST_P(DraftTest, CandidatesAndTheWalkBreakTiesByTheLowestId) {
  DrafterConfig config = SmallDrafterConfig();
  config.kind = DrafterKind::kDflash2;
  config.conv_kernel_size = 2;
  config.conv_group_size = 16;
  config.selector_rank = 8;
  config.selector_top_k = 16;
  const auto weights = Weights(config);
  weights->lm_head = Tied(weights->lm_head);
  weights->selector.successor = Tied(weights->selector.successor);
  const Draft draft = DraftOnce(config, weights, GetParam());
  EXPECT_THAT(draft.at("margin"), Each(0.0));
  for (std::size_t row = 1; row < kRows; ++row) {
    const double* const logits = &draft.at("logits")[row * 101];
    std::vector<std::size_t> order(101);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
    const double* const ids = &draft.at("selector.candidate_ids")[(row - 1) * 16];
    const double* const scores = &draft.at("selector.scores")[(row - 1) * 16];
    EXPECT_EQ(std::vector<double>(ids, ids + 16),
              std::vector<double>(order.begin(), order.begin() + 16));
    // Three of a kind tie in logit and in score; the border after the 16th cuts one such three.
    EXPECT_EQ(draft.at("selector.topk_gap")[row - 1], logits[order[15]] - logits[order[16]]);
    const double best = *std::max_element(scores, scores + 16);
    double lowest = 101;
    for (std::size_t k = 0; k < 16; ++k) {
      if (scores[k] == best) lowest = std::min(lowest, ids[k]);
    }
    EXPECT_EQ(draft.at("draft_tokens")[row - 1], lowest);
    EXPECT_LT(lowest, static_cast<double>(kPeriod));
  }
}

}  // namespace
}  // namespace draftmark::reference
