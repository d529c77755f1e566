// What the registry's cases of dense rows do not reach: one step of several bands at a time, as a
// draft calls it, and the recurrence of several sequences.
#include "kernels/markov_step/markov_step.h"

#include <vector>

#include "kernels/markov_step/markov_step_traits.h"
#include "kernels/testing/device_test.h"
#include "src/base/status_matchers.h"

namespace draftmark::kernels {
namespace {

constexpr std::int64_t kBands = 3, kWidth = 4, kV = 203, kR = 24, kH = 40;
constexpr std::int64_t kRows = kBands * kWidth;

class MarkovStepTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    std::vector<std::uint32_t> previous(kRows);
    for (std::size_t i = 0; i < previous.size(); ++i) {
      previous[i] = static_cast<std::uint32_t>(BitsAt(SeedOf("previous"), i) % kV);
    }
    previous_ = Upload(previous);
    hidden_ = Upload(Random("hidden", kRows * kH, 2));
    w1_ = Upload(Random("w1", kV * kR, 2));
    w2_ = Upload(Random("w2", kV * kR, 0.3));
    projection_ = Upload(Random("projection", 3 * kR * (kH + 2 * kR), 0.2));
    projection_bias_ = Upload(Random("projection_bias", 3 * kR, 1));
    embedding_ = Bytes(kRows * kR * sizeof(BFloat16));
    state_ = Bytes(kBands * kR * sizeof(BFloat16));
    logits_ = Bytes(kRows * kV * sizeof(BFloat16));
    workspace_ = Bytes(MarkovStepTraits::WorkspaceBytes(false, kRows, kH, kR));
    Reset();
  }
  // Logits and state before the first step.
  void Reset() {
    Write(logits_, Random("logits", kRows * kV, 4));
    Set(state_, 0);
  }
  // All rows as they lie.
  MarkovStepArgs Args(MarkovHeadType type) const {
    return {.type = type,
            .previous = previous_.As<std::uint32_t>(),
            .hidden = hidden_.As<BFloat16>(),
            .w1 = w1_.As<BFloat16>(),
            .w2 = w2_.As<BFloat16>(),
            .projection = projection_.As<BFloat16>(),
            .projection_bias = projection_bias_.As<BFloat16>(),
            .state = state_.As<BFloat16>(),
            .embedding = embedding_.As<BFloat16>(),
            .logits = logits_.As<BFloat16>(),
            .rows = kRows,
            .v = kV,
            .r = kR,
            .h = kH,
            .workspace = workspace_.address().value,
            .workspace_bytes = workspace_.bytes()};
  }
  // Step j of all bands.
  MarkovStepArgs Step(MarkovHeadType type, std::int64_t j) const {
    MarkovStepArgs args = Args(type);
    args.previous += j;
    args.hidden += j * kH;
    args.logits += j * kV;
    args.rows = kBands;
    args.row_step = kWidth;
    return args;
  }

  DeviceBuffer previous_, hidden_, w1_, w2_, projection_, projection_bias_, embedding_, state_,
      logits_, workspace_;
};

TEST_F(MarkovStepTest, StepsOfAllBandsGiveTheRowsOfOneLaunch) {
  for (const MarkovHeadType type : {MarkovHeadType::kVanilla, MarkovHeadType::kGated}) {
    Reset();
    ASSERT_THAT(LaunchMarkovStep(Args(type), stream()), IsOk());
    const std::vector<BFloat16> at_once = Read<BFloat16>(logits_);
    Reset();
    for (std::int64_t j = 0; j < kWidth; ++j) {
      ASSERT_THAT(LaunchMarkovStep(Step(type, j), stream()), IsOk());
    }
    EXPECT_EQ(Read<BFloat16>(logits_), at_once) << "type " << static_cast<int>(type);
  }
}

// Bands one after the other, each with a state of its own from zero, against all bands step by step
// with their states beside each other.
TEST_F(MarkovStepTest, SequencesOfTheRecurrenceDoNotMeet) {
  for (std::int64_t band = 0; band < kBands; ++band) {
    Set(state_, 0);
    MarkovStepArgs args = Args(MarkovHeadType::kRnn);
    args.previous += band * kWidth;
    args.hidden += band * kWidth * kH;
    args.logits += band * kWidth * kV;
    args.rows = kWidth;
    args.sequences = 1;
    ASSERT_THAT(LaunchMarkovStep(args, stream()), IsOk());
  }
  const std::vector<BFloat16> alone = Read<BFloat16>(logits_);
  Reset();
  for (std::int64_t j = 0; j < kWidth; ++j) {
    ASSERT_THAT(LaunchMarkovStep(Step(MarkovHeadType::kRnn, j), stream()), IsOk());
  }
  EXPECT_EQ(Read<BFloat16>(logits_), alone);
}

TEST_F(MarkovStepTest, ATokenOutsideOfTheVocabularyShows) {
  Write(previous_, std::vector<std::uint32_t>(kRows, kV));
  ASSERT_THAT(LaunchMarkovStep(Args(MarkovHeadType::kVanilla), stream()), IsOk());
  for (const BFloat16 logit : Read<BFloat16>(logits_)) {
    ASSERT_NE(logit.ToFloat(), logit.ToFloat());  // NaN
  }
}

}  // namespace
}  // namespace draftmark::kernels
