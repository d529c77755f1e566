// The plain forward against the reference (two computations written apart) and against golden
// float64 stages.
#include "conformance/plain/forward.h"

#include <cmath>
#include <numeric>

#include "conformance/plain/tapped_stages.h"
#include "src/backend/stages.h"
#include "src/base/runfiles.h"
#include "src/base/status_matchers.h"
#include "src/reference/session.h"
#include "src/weights/random_drafter.h"

namespace draftmark::plain {
namespace {

double RelativeError(const std::vector<double>& expected, const std::vector<double>& got) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += (got[i] - expected[i]) * (got[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return norm == 0 ? std::sqrt(difference) : std::sqrt(difference / norm);
}

Bands RandomBands(const DrafterConfig& config, std::size_t bands, std::size_t steps) {
  Bands result(bands);
  for (std::size_t b = 0; b < bands; ++b) {
    std::int64_t start = static_cast<std::int64_t>(3 * b);
    for (std::size_t s = 0; s < steps; ++s) {
      CaseStep step;
      step.new_context_rows = (s == 0 ? 13 : 4) + 3 * b;
      step.drop_front_rows = s == 2 ? 5 : 0;
      start += static_cast<std::int64_t>(step.new_context_rows) + (s == 1 ? 2 : 0);
      step.start = start;
      step.target_hidden = RandomBf16(100 * b + s, step.new_context_rows * config.tap_width(), 1);
      step.block_tokens.assign(6, static_cast<std::uint32_t>(*config.mask_token_id));
      step.block_tokens[0] = static_cast<std::uint32_t>(7 * b + 11 * s);
      result[b].push_back(std::move(step));
    }
  }
  return result;
}

void ExpectSameAsReference(const DrafterConfig& config,
                           const std::shared_ptr<const DrafterWeights>& weights) {
  const Bands bands = RandomBands(config, 2, 3);
  SessionLimits limits{.max_batch = 2, .max_context = 64, .ctx_window = 16, .gamma = 6};
  DM_ASSERT_OK_AND_ASSIGN(const auto session, reference::OpenReferenceSession(
                                                  config, weights, limits, Precision::kExact));
  std::map<StageId, std::vector<double>> tapped;
  for (std::size_t s = 0; s < 3; ++s) {
    StageCollector collector;
    std::vector<BlockRequest> requests;
    for (std::size_t b = 0; b < bands.size(); ++b) {
      const CaseStep& step = bands[b][s];
      ASSERT_THAT(session->DropFront(b, step.drop_front_rows), IsOk());
      std::vector<std::int32_t> positions(step.new_context_rows);
      std::iota(
          positions.begin(), positions.end(),
          static_cast<std::int32_t>(step.start - static_cast<std::int64_t>(step.new_context_rows)));
      ASSERT_THAT(session->AppendContext(b, step.target_hidden, positions), IsOk());
      requests.push_back({b, step.block_tokens, step.start});
    }
    DM_ASSERT_OK_AND_ASSIGN(const auto results, session->Propose(requests, &collector));
    for (const auto& [band, stages] : collector.bands()) {
      for (const auto& [stage, value] : stages) tapped[{s, band, stage}] = value.values;
    }
  }
  Recorder exact(Rounding::kNothing);
  ASSERT_THAT(Run(config, *weights, bands, {.float32_angles = false}, exact), IsOk());
  ASSERT_EQ(exact.values().size(), tapped.size());
  for (const auto& [id, expected] : tapped) {
    ASSERT_TRUE(exact.values().contains(id)) << id.stage;
    ASSERT_EQ(exact.values().at(id).size(), expected.size()) << id.stage;
    EXPECT_LT(RelativeError(expected, exact.values().at(id)), 1e-11)
        << id.step << " " << id.band << " " << id.stage;
  }
}

Bf16Matrix Matrix(std::uint64_t seed, std::size_t rows, std::size_t cols, double scale = 0.3) {
  return {rows, cols, RandomBf16(seed, rows * cols, scale)};
}

TEST(PlainForwardTest, PlainDrafterIsTheReference) {
  DrafterConfig config = SmallDrafterConfig();
  config.attention_bias = true;
  config.output_multiplier = 0.5;
  config.final_logit_softcapping = 3;
  config.input_embedding_scale = 2.5;
  auto weights = std::make_shared<DrafterWeights>(*RandomWeights(config, 1));
  weights->mask_embedding = Matrix(5, 1, config.hidden_size);
  for (auto& layer : weights->layers) layer.sinks = Matrix(6, 1, config.num_attention_heads);
  ExpectSameAsReference(config, weights);
}

TEST(PlainForwardTest, YarnAndPartialRotaryAreTheReference) {
  DrafterConfig config = SmallDrafterConfig();
  config.rope.type = "yarn";
  config.rope.factor = 8;
  config.rope.original_max_position_embeddings = 64;
  config.rope.beta_fast = 4;
  config.rope.partial_rotary_factor = 0.5;
  ExpectSameAsReference(config, RandomWeights(config, 2));
  config.rope.pairing = RopePairing::kHalfOfHead;
  config.rope.mscale = 1;
  config.rope.mscale_all_dim = 0.5;
  config.rope.truncate = false;
  ExpectSameAsReference(config, RandomWeights(config, 2));
}

TEST(PlainForwardTest, MarkovHeadsAreTheReference) {
  for (const RowConvention convention : {RowConvention::kInPlace, RowConvention::kAnchorFirst}) {
    for (const MarkovType type : {MarkovType::kVanilla, MarkovType::kGated, MarkovType::kRnn}) {
      DrafterConfig config = SmallDrafterConfig();
      config.kind = DrafterKind::kDspark;
      config.row_convention = convention;
      config.markov_rank = 8;
      config.confidence_head = config.confidence_head_with_markov = true;
      auto weights = std::make_shared<DrafterWeights>(*RandomWeights(config, 3));
      const std::size_t h = config.hidden_size;
      weights->markov = {type,
                         Matrix(11, config.vocab_size, 8, 1),
                         Matrix(12, config.vocab_size, 8, 1),
                         Matrix(13, 8, h + 8),
                         Matrix(14, 1, 8),
                         Matrix(15, 24, 16 + h),
                         Matrix(16, 1, 24)};
      weights->confidence = {Matrix(17, 1, h + 8), Matrix(18, 1, 1)};
      ExpectSameAsReference(config, weights);
    }
  }
}

TEST(PlainForwardTest, ConvolutionsAndSelectorAreTheReference) {
  DrafterConfig config = SmallDrafterConfig();
  config.kind = DrafterKind::kDflash2;
  config.conv_kernel_size = 2;
  config.conv_group_size = 8;
  config.selector_rank = 12;
  config.selector_top_k = 16;
  auto weights = std::make_shared<DrafterWeights>(*RandomWeights(config, 4));
  const std::size_t h = config.hidden_size;
  for (auto& layer : weights->layers) {
    layer.attention_conv = {Matrix(21, 4, h, 1), Matrix(22, 4 * h / 8, h)};
    layer.mlp_conv = {Matrix(23, 4, h, 1), Matrix(24, 4 * h / 8, h)};
  }
  weights->selector = {Matrix(25, config.vocab_size, 12, 1), Matrix(26, config.vocab_size, 12, 1),
                       Matrix(27, 12, h)};
  ExpectSameAsReference(config, weights);
}

TEST(PlainForwardTest, GoldenCasesAgree) {
  const std::vector<std::string> folders = FindDrafterCases(Runfiles("golden/drafter"));
  ASSERT_FALSE(folders.empty());
  for (const std::string& folder : folders) {
    DM_ASSERT_OK_AND_ASSIGN(const DrafterCase drafter_case, DrafterCase::Load(folder));
    DM_ASSERT_OK_AND_ASSIGN(const auto weights,
                            LoadDrafterWeights(drafter_case.config(), drafter_case.checkpoint()));
    Recorder exact(Rounding::kNothing);
    ASSERT_THAT(plain::Run(drafter_case.config(), weights, {drafter_case.steps()},
                           {.float32_angles = false}, exact),
                IsOk());
    for (const auto& [id, values] : exact.values()) {
      DM_ASSERT_OK_AND_ASSIGN(const auto expected, drafter_case.Expected(id.step, id.stage));
      if (!expected || id.stage == "margin") continue;
      const CaseStep& step = drafter_case.steps()[id.step];
      const Shape whole =
          StageShape(drafter_case.config(), id.stage, step.new_context_rows, drafter_case.gamma());
      // The YaRN case was made with float32 frequencies, and stages may be stored as F32.
      EXPECT_LT(RelativeError(expected->values, SelectRows(whole, values, expected->rows)),
                drafter_case.config().rope.type == "yarn" ? 1e-6 : 1e-7)
          << folder << " " << id.stage;
    }
  }
}

TEST(PlainForwardTest, EveryMistakeIsDescribed) {
  for (const MistakeInfo& info : AllMistakes()) {
    EXPECT_EQ(InfoOf(info.mistake).name, info.name);
    EXPECT_FALSE(info.fix.empty()) << info.name;
    EXPECT_FALSE(info.shows.empty()) << info.name;
  }
}

TEST(PlainForwardTest, InputsThatDoNotFitAreRefused) {
  const DrafterConfig config = SmallDrafterConfig();
  const Bands good = RandomBands(config, 1, 2);
  EXPECT_THAT(CheckBands(config, good), IsOk());
  EXPECT_THAT(CheckBands(config, {}),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("at least one step")));
  Bands bad = good;
  bad[0][1].block_tokens[2] = 101;
  EXPECT_THAT(
      CheckBands(config, bad),
      StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("block_tokens: expected ids")));
  bad = good;
  bad[0][0].target_hidden.pop_back();
  EXPECT_THAT(CheckBands(config, bad), StatusIs(StatusCode::kInvalidArgument,
                                                ::testing::HasSubstr("target_hidden: expected")));
  bad = good;
  bad[0][1].drop_front_rows = 14;
  EXPECT_THAT(CheckBands(config, bad), StatusIs(StatusCode::kInvalidArgument,
                                                ::testing::HasSubstr("drop_front_rows: expected")));
  bad = good;
  bad[0][0].start = 12;
  EXPECT_THAT(CheckBands(config, bad),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("start: expected")));
}

}  // namespace
}  // namespace draftmark::plain
