// Markov and confidence heads in whole drafts that no oracle case reaches: convention A, gated and
// recurrent heads, and heads that are absent. The walk is written out here from the formulas of
// spec/drafter.md sections 6.1 and 6.2, on the draft's own normed rows and logits.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "src/base/status_matchers.h"
#include "src/reference/draft_testing.h"

namespace draftmark::reference {
namespace {

constexpr std::size_t kRows = 5, kHidden = 48, kVocabulary = 101, kRank = 8;
constexpr std::uint32_t kAnchor = 3;
using Draft = std::map<std::string, std::vector<double>>;
using Vector = std::vector<double>;

DrafterConfig DsparkConfig(const std::string& type, RowConvention convention) {
  DrafterConfig config = SmallDrafterConfig();
  config.kind = DrafterKind::kDspark;
  config.row_convention = convention;
  config.markov_rank = kRank;
  config.markov_head_type = type;
  config.confidence_head = true;
  config.confidence_head_with_markov = true;
  return config;
}

// What the heads should make of a draft's `norm` and `logits`.
class Walk {
 public:
  Walk(const DrafterWeights& weights, Precision precision, const Draft& draft)
      : weights_(weights), bf16_(precision == Precision::kBf16), draft_(draft) {}

  void Run(std::size_t first_row, std::size_t anchor) {
    logits = draft_.at("logits");
    std::size_t previous = anchor;
    Vector state(kRank, 0.0);
    for (std::size_t j = first_row; j < kRows; ++j) {
      const Vector y(draft_.at("norm").begin() + static_cast<std::ptrdiff_t>(j * kHidden),
                     draft_.at("norm").begin() + static_cast<std::ptrdiff_t>((j + 1) * kHidden));
      Vector e;
      for (const BFloat16 value : weights_.markov.w1.row(previous)) e.push_back(value.ToDouble());
      const Vector bias = Times(weights_.markov.w2, {}, Latent(e, y, state));
      double* const row = &logits[j * kVocabulary];
      for (std::size_t v = 0; v < kVocabulary; ++v) row[v] = Round(row[v] + bias[v]);
      previous = static_cast<std::size_t>(std::max_element(row, row + kVocabulary) - row);
      tokens.push_back(static_cast<double>(previous));
      confidence.push_back(
          Times(weights_.confidence.proj, weights_.confidence.bias, Join({y, e}))[0]);
    }
  }

  Vector logits, tokens, confidence;

 private:
  static Vector Join(const std::vector<Vector>& parts) {
    Vector all;
    for (const Vector& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }
  double Round(double value) const {
    return bf16_ ? BFloat16::FromDouble(value).ToDouble() : value;
  }
  static double Sigma(double x) { return 1 / (1 + std::exp(-x)); }

  Vector Times(const Bf16Matrix& w, const Bf16Matrix& bias, const Vector& x) const {
    Vector out;
    for (std::size_t o = 0; o < w.rows(); ++o) {
      double sum = bias.empty() ? 0 : bias.values()[o].ToDouble();
      for (std::size_t i = 0; i < x.size(); ++i) sum += w.row(o)[i].ToDouble() * x[i];
      out.push_back(Round(sum));
    }
    return out;
  }

  Vector Latent(const Vector& e, const Vector& y, Vector& state) const {
    const MarkovWeights& m = weights_.markov;
    Vector latent = e;
    if (!m.gate_proj.empty()) {
      const Vector gate = Times(m.gate_proj, m.gate_bias, Join({y, e}));
      for (std::size_t r = 0; r < kRank; ++r) latent[r] = Round(Sigma(gate[r]) * e[r]);
    } else if (!m.joint_proj.empty()) {
      const Vector joint = Times(m.joint_proj, m.joint_bias, Join({state, e, y}));
      for (std::size_t r = 0; r < kRank; ++r) {
        const double keep = Sigma(joint[r]);
        state[r] = Round(keep * state[r] + (1 - keep) * std::tanh(joint[kRank + r]));
        latent[r] = Round(std::tanh(joint[2 * kRank + r]));
      }
    }
    return latent;
  }

  const DrafterWeights& weights_;
  const bool bf16_;
  const Draft& draft_;
};

void ExpectNear(const Vector& got, const Vector& expected, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  // The order of additions differs, which float64 shows in its last digits and a rounding to BF16
  // hides.
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], 1e-13 * (1 + std::abs(expected[i]))) << what << " " << i;
}

using Parameters = std::tuple<std::string, RowConvention, Precision>;
class MarkovDraftTest : public ::testing::TestWithParam<Parameters> {};
INSTANTIATE_TEST_SUITE_P(Heads, MarkovDraftTest,
                         ::testing::Combine(::testing::Values("vanilla", "gated", "rnn"),
                                            ::testing::Values(RowConvention::kInPlace,
                                                              RowConvention::kAnchorFirst),
                                            ::testing::Values(Precision::kExact, Precision::kBf16)),
                         [](const auto& run) {
                           const bool in_place = std::get<1>(run.param) == RowConvention::kInPlace;
                           return std::get<0>(run.param) + (in_place ? "_A_" : "_B_") +
                                  std::string(PrecisionName(std::get<2>(run.param)));
                         });

TEST_P(MarkovDraftTest, FollowsTheFormulas) {
  const auto& [type, convention, precision] = GetParam();
  const DrafterConfig config = DsparkConfig(type, convention);
  const auto weights = RandomWeights(config, 11);
  const Draft draft = DraftOnce(config, weights, precision, kAnchor);
  const std::size_t first_row = convention == RowConvention::kInPlace ? 1 : 0;
  Walk walk(*weights, precision, draft);
  walk.Run(first_row, kAnchor);
  ExpectNear(draft.at("markov.logits"), walk.logits, "markov.logits");
  ExpectNear(draft.at("confidence_logits"), walk.confidence, "confidence_logits");
  EXPECT_EQ(draft.at("draft_tokens"), walk.tokens);
  // The heads moved some token: without them the test would show little.
  Vector plain;
  for (std::size_t j = first_row; j < kRows; ++j) {
    const double* const row = &draft.at("logits")[j * kVocabulary];
    plain.push_back(static_cast<double>(std::max_element(row, row + kVocabulary) - row));
  }
  EXPECT_NE(draft.at("draft_tokens"), plain);
}

TEST_P(MarkovDraftTest, UnderConventionARowZeroIsNoPredecessor) {
  const auto& [type, convention, precision] = GetParam();
  if (convention != RowConvention::kInPlace) GTEST_SKIP() << "convention A only";
  const DrafterConfig config = DsparkConfig(type, convention);
  const auto weights = RandomWeights(config, 11);
  const Draft draft = DraftOnce(config, weights, precision, kAnchor);
  // Row 0 keeps its logits, and its argmax in the anchor's place would give another row 1.
  const Vector& logits = draft.at("logits");
  const Vector& biased = draft.at("markov.logits");
  EXPECT_TRUE(std::equal(logits.begin(), logits.begin() + kVocabulary, biased.begin()));
  const auto row0 = static_cast<std::size_t>(
      std::max_element(logits.begin(), logits.begin() + kVocabulary) - logits.begin());
  ASSERT_NE(row0, kAnchor);
  Walk wrong(*weights, precision, draft);
  wrong.Run(1, row0);
  EXPECT_FALSE(std::equal(biased.begin() + kVocabulary, biased.begin() + 2 * kVocabulary,
                          wrong.logits.begin() + kVocabulary));
}

class AbsentHeadsTest : public ::testing::TestWithParam<Precision> {};
INSTANTIATE_TEST_SUITE_P(Precisions, AbsentHeadsTest,
                         ::testing::Values(Precision::kExact, Precision::kBf16),
                         [](const auto& run) { return std::string(PrecisionName(run.param)); });

TEST_P(AbsentHeadsTest, ADrafterWithoutItsHeadsIsAPlainOne) {
  for (const RowConvention convention : {RowConvention::kInPlace, RowConvention::kAnchorFirst}) {
    const DrafterConfig config = DsparkConfig("vanilla", convention);
    auto weights = std::make_shared<DrafterWeights>(*RandomWeights(config, 11));
    weights->markov = {};
    weights->confidence = {};
    const Draft headless = DraftOnce(config, weights, GetParam());
    DrafterConfig plain_config = SmallDrafterConfig();
    plain_config.row_convention = convention;
    const Draft plain = DraftOnce(plain_config, RandomWeights(plain_config, 11), GetParam());
    for (const auto& [stage, values] : plain) EXPECT_EQ(headless.at(stage), values) << stage;
    EXPECT_EQ(headless.at("markov.logits"), plain.at("logits"));
    EXPECT_FALSE(headless.contains("confidence_logits"));
  }
}

TEST_P(AbsentHeadsTest, AConfidenceHeadNeedsNoMarkovHead) {
  DrafterConfig config = DsparkConfig("vanilla", RowConvention::kAnchorFirst);
  config.markov_rank = 0;
  config.confidence_head_with_markov = false;
  const auto weights = RandomWeights(config, 11);
  const Draft draft = DraftOnce(config, weights, GetParam());
  ASSERT_EQ(draft.at("confidence_logits").size(), kRows);
  for (std::size_t j = 0; j < kRows; ++j) {
    double sum = weights->confidence.bias.values()[0].ToDouble();
    for (std::size_t i = 0; i < kHidden; ++i)
      sum += weights->confidence.proj.row(0)[i].ToDouble() * draft.at("norm")[j * kHidden + i];
    const double expected =
        GetParam() == Precision::kBf16 ? BFloat16::FromDouble(sum).ToDouble() : sum;
    EXPECT_NEAR(draft.at("confidence_logits")[j], expected, 1e-13);
  }
}

}  // namespace
}  // namespace draftmark::reference
