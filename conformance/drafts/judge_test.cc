// The judge must catch what it is there for: each test plants one mistake in the stages of a sound
// run.
#include "conformance/drafts/judge.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "conformance/drafts/judge_testing.h"
#include "src/base/file_system.h"
#include "src/base/json.h"
#include "src/tensor/safetensors.h"

namespace draftmark {
namespace {

using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(JudgeTest, SoundRunsPass) {
  for (const Precision precision : {Precision::kExact, Precision::kBf16}) {
    DM_ASSERT_OK_AND_ASSIGN(const CaseReport report,
                            RunTampered("dflash_softcap", precision, precision, kNone));
    EXPECT_EQ(report.FirstFailure(), nullptr) << ReportText(report);
    EXPECT_EQ(report.Signature(), "");
  }
}

TEST(JudgeTest, Bf16ModeThatRoundsNothingFailsAtTheFirstStage) {
  DM_ASSERT_OK_AND_ASSIGN(const CaseReport report, RunTampered("dflash_softcap", Precision::kExact,
                                                               Precision::kBf16, kNone));
  ASSERT_NE(report.FirstFailure(), nullptr);
  EXPECT_EQ(report.Signature(), "step0.fc: not representable");
  EXPECT_THAT(report.FirstFailure()->failure, HasSubstr("not rounded"));
  // Not one rounded stage: only tokens and margins of the two steps may pass.
  EXPECT_GE(report.Failures(), report.verdicts.size() - 4);
}

TEST(JudgeTest, OneUnroundedStageIsNamed) {
  // The smallest change that BF16 cannot hold, in every stage in turn.
  for (const std::string& stage : StagesInDataFlowOrder([] {
         DrafterConfig config;
         config.num_hidden_layers = 1;
         return config;
       }())) {
    if (stage == "draft_tokens" || stage == "margin") continue;
    DM_ASSERT_OK_AND_ASSIGN(
        const CaseReport report,
        RunTampered("dflash_softcap", Precision::kBf16, Precision::kBf16,
                    Only(stage, [](double value) { return value * (1 + std::ldexp(1, -20)); })));
    ASSERT_NE(report.FirstFailure(), nullptr) << stage;
    EXPECT_EQ(report.FirstFailure()->Name(), "step0." + stage);
    EXPECT_THAT(report.FirstFailure()->failure, HasSubstr("not rounded"));
  }
}

TEST(JudgeTest, TruncationInsteadOfNearestFailsFromAbove) {
  // fc of the exact run, cut instead of rounded: its error doubles.
  DM_ASSERT_OK_AND_ASSIGN(const CaseReport report,
                          RunTampered("dflash_softcap", Precision::kExact, Precision::kBf16,
                                      Only("fc", TruncateToBf16)));
  EXPECT_EQ(report.Signature(), "step0.fc: bound");
  EXPECT_THAT(report.FirstFailure()->failure, HasSubstr("is not within 2 % of PyTorch's error"));
}

TEST(JudgeTest, TheFloat64FcRoundedOncePasses) {
  DM_ASSERT_OK_AND_ASSIGN(const DrafterCase drafter_case,
                          DrafterCase::Load(GoldenCase("dflash_softcap")));
  const ExpectedStage expected = Golden(drafter_case, "fc");
  TappedStages tapped;
  tapped["fc"] = {expected.shape, expected.values};
  for (double& value : tapped["fc"].values) value = BFloat16::FromDouble(value).ToDouble();
  const DrafterWeights weights = WeightsOf(drafter_case);
  DM_ASSERT_OK_AND_ASSIGN(
      const auto oracle,
      LocalOracle::Open(drafter_case, weights, Precision::kBf16, Accumulation::kFloat64));
  DM_ASSERT_OK_AND_ASSIGN(const auto verdicts, JudgeStep(drafter_case, weights, 0, Precision::kBf16,
                                                         tapped, oracle->Step(0, tapped), {}));
  EXPECT_TRUE(verdicts.front().passed()) << verdicts.front().failure;
}

TEST(JudgeTest, AWrongRoundingOfAnyOneStageIsNamed) {
  // The run computes on with the right value, but shows the neighbour that truncation or a second
  // rounding would give: far inside the end-to-end bounds, and a BF16 number.
  for (const char* name : {"dflash_softcap", "dflash_yarn", "dflash_window_slide"}) {
    DM_ASSERT_OK_AND_ASSIGN(const DrafterCase drafter_case, DrafterCase::Load(GoldenCase(name)));
    for (const std::string& stage : StagesInDataFlowOrder(drafter_case.config())) {
      if (stage == "draft_tokens" || stage == "margin") continue;
      DM_ASSERT_OK_AND_ASSIGN(
          const CaseReport report,
          RunTampered(name, Precision::kBf16, Precision::kBf16,
                      [&](const std::string& shown, Shape&, std::vector<double>& values) {
                        if (shown != stage) return;
                        BFloat16 neighbour = BFloat16::FromDouble(values[values.size() / 2]);
                        ++neighbour.bits;
                        values[values.size() / 2] = neighbour.ToDouble();
                      }));
      ASSERT_NE(report.FirstFailure(), nullptr) << name << " " << stage;
      EXPECT_EQ(report.FirstFailure()->Name(), "step0." + stage) << name;
      // fc is judged by its distance from the case first, and that is as sharp.
      EXPECT_THAT(report.Signature(), AnyOf(EndsWith(": own stages"), EndsWith(".fc: bound")));
    }
  }
}

TEST(JudgeTest, AnFp32BackendMayFallToTheOtherSideOfAMidpoint) {
  // One element moved to its other neighbour, as an FP32 sum in another order does now and then: refused for a backend that
  // sums in float64, allowed for one that sums in FP32. Two neighbours off is refused for both.
  DM_ASSERT_OK_AND_ASSIGN(const DrafterCase drafter_case,
                          DrafterCase::Load(GoldenCase("dflash_yarn")));
  const DrafterWeights weights = WeightsOf(drafter_case);
  const ExpectedStage fc = Golden(drafter_case, "fc");
  for (const Accumulation accumulation : {Accumulation::kFloat64, Accumulation::kFloat32}) {
    for (const int steps : {0, 1, 2}) {
      TappedStages tapped;
      tapped["fc"] = {fc.shape, fc.values};
      for (double& value : tapped["fc"].values) value = BFloat16::FromDouble(value).ToDouble();
      BFloat16 moved = BFloat16::FromDouble(fc.values[77]);
      // Away from the oracle's side, so that one step is the other neighbour.
      const int direction = std::abs(moved.ToDouble()) > std::abs(fc.values[77]) ? -1 : 1;
      moved.bits = static_cast<std::uint16_t>(moved.bits + direction * steps);
      tapped["fc"].values[77] = moved.ToDouble();
      DM_ASSERT_OK_AND_ASSIGN(const auto oracle, LocalOracle::Open(drafter_case, weights,
                                                                   Precision::kBf16, accumulation));
      DM_ASSERT_OK_AND_ASSIGN(const auto verdicts,
                              JudgeStep(drafter_case, weights, 0, Precision::kBf16, tapped,
                                        oracle->Step(0, tapped), {}));
      const bool allowed = steps == 0 || (steps == 1 && accumulation == Accumulation::kFloat32);
      EXPECT_EQ(verdicts.front().passed(), allowed) << verdicts.front().failure;
    }
  }
}

TEST(JudgeTest, BoundsFollowTheRecordedErrors) {
  // The contract's arithmetic, on recorded errors made up for it: k_new by its k_norm, others capped at 0.02, 0.03 at most.
  const std::string directory = std::string(std::getenv("TEST_TMPDIR")) + "/bounds";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  for (const char* file : {"model.safetensors", "golden.safetensors"}) {
    std::filesystem::copy_file(GoldenCase("dflash_softcap/") + file, directory + "/" + file);
  }
  Json config =
      ParseJson(ReadTextFile(GoldenCase("dflash_softcap/config.json")).value(), "config.json")
          .value();
  Json& errors = config["torch_bf16_relative_error"];
  errors["step0.layers.0.k_norm"] = 0.25;
  errors["step0.layers.0.k_new"] = 0.001;
  errors["step0.norm"] = 0.5;
  errors["step0.logits"] = 0.01;
  ASSERT_THAT(WriteTextFile(directory + "/config.json", config.dump()), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(const DrafterCase drafter_case, DrafterCase::Load(directory));
  DM_ASSERT_OK_AND_ASSIGN(
      const CaseReport report,
      RunDrafterCase(drafter_case, Precision::kBf16, kReferenceBackend, OpenReferenceForCase));
  std::map<std::string, double> bounds;
  for (const StageVerdict& verdict : report.verdicts) bounds[verdict.Name()] = verdict.bound;
  EXPECT_DOUBLE_EQ(bounds["step0.layers.0.k_new"], 1.5 * 0.25);   // its k_norm, and no cap
  EXPECT_DOUBLE_EQ(bounds["step0.layers.0.k_norm"], 1.5 * 0.02);  // capped
  EXPECT_DOUBLE_EQ(bounds["step0.norm"], 1.5 * 0.02);
  EXPECT_DOUBLE_EQ(bounds["step0.logits"], 1.5 * 0.01);
}

TEST(JudgeTest, AnFcThatIsBetterThanItsRoundingCanBeFails) {
  const std::string directory = std::string(std::getenv("TEST_TMPDIR")) + "/below";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  for (const char* file : {"model.safetensors", "golden.safetensors"}) {
    std::filesystem::copy_file(GoldenCase("dflash_softcap/") + file, directory + "/" + file);
  }
  Json config =
      ParseJson(ReadTextFile(GoldenCase("dflash_softcap/config.json")).value(), "config.json")
          .value();
  Json& recorded = config["torch_bf16_relative_error"]["step0.fc"];
  recorded = recorded.get<double>() * 1.05;  // the run is 5 % better than PyTorch was
  ASSERT_THAT(WriteTextFile(directory + "/config.json", config.dump()), IsOk());
  DM_ASSERT_OK_AND_ASSIGN(const DrafterCase drafter_case, DrafterCase::Load(directory));
  DM_ASSERT_OK_AND_ASSIGN(
      const CaseReport report,
      RunDrafterCase(drafter_case, Precision::kBf16, kReferenceBackend, OpenReferenceForCase));
  ASSERT_NE(report.FirstFailure(), nullptr);
  EXPECT_EQ(report.FirstFailure()->Name(), "step0.fc");
}

TEST(JudgeTest, WrongWidthOfOneStageFails) {
  // Three bits fewer than BF16 (as an FP8 detour would give): every number is still representable.
  for (const char* stage :
       {"hidden_norm", "layers.0.input_layernorm", "layers.0.q_norm", "layers.0.k_new",
        "layers.0.v_new", "layers.0.output", "norm", "logits"}) {
    DM_ASSERT_OK_AND_ASSIGN(const CaseReport report,
                            RunTampered("dflash_softcap", Precision::kBf16, Precision::kBf16,
                                        Only(stage, [](double value) {
                                          BFloat16 bits = BFloat16::FromDouble(value);
                                          bits.bits =
                                              static_cast<std::uint16_t>(bits.bits & 0xFFF8u);
                                          return bits.ToDouble();
                                        })));
    ASSERT_NE(report.FirstFailure(), nullptr) << stage;
    EXPECT_EQ(report.FirstFailure()->stage, stage);
  }
}

TEST(JudgeTest, NanAndInfinityFail) {
  for (const double bad : {std::nan(""), double{INFINITY}}) {
    for (const Precision precision : {Precision::kExact, Precision::kBf16}) {
      DM_ASSERT_OK_AND_ASSIGN(
          const CaseReport report,
          RunTampered("dflash_softcap", precision, precision,
                      [&](const std::string& stage, Shape&, std::vector<double>& values) {
                        if (stage == "norm") values[7] = bad;
                      }));
      ASSERT_NE(report.FirstFailure(), nullptr);
      EXPECT_EQ(report.FirstFailure()->Name(), "step0.norm");
      EXPECT_EQ(report.FirstFailure()->comparison.worst_index, 7u);
    }
  }
}

TEST(JudgeTest, MissingStageAndWrongShapeFail) {
  DM_ASSERT_OK_AND_ASSIGN(
      const CaseReport missing,
      RunTampered("dflash_softcap", Precision::kExact, Precision::kExact,
                  [](const std::string& stage, Shape& shape, std::vector<double>&) {
                    if (stage == "layers.0.mlp") shape.clear();
                  }));
  EXPECT_EQ(missing.Signature(), "step0.layers.0.mlp: missing");
  EXPECT_THAT(missing.FirstFailure()->failure, HasSubstr("no such stage"));
  DM_ASSERT_OK_AND_ASSIGN(
      const CaseReport reshaped,
      RunTampered("dflash_softcap", Precision::kExact, Precision::kExact,
                  [](const std::string& stage, Shape& shape, std::vector<double>&) {
                    if (stage == "layers.0.attn_out") shape = {shape[1], shape[0]};
                  }));
  EXPECT_EQ(reshaped.Signature(), "step0.layers.0.attn_out: shape");
  EXPECT_THAT(reshaped.FirstFailure()->failure, HasSubstr("shape [256, 16], expected [16, 256]"));
}

// A copy of a golden case whose stage is stored in float64, as the reference computes it.
std::string CaseWithFloat64Stage(const std::string& name, const std::string& stage) {
  std::string copy = std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
  std::filesystem::remove_all(copy);
  std::filesystem::copy(GoldenCase(name), copy);
  std::vector<std::vector<double>> computed;  // of each step
  const Tamper keep = [&](const std::string& shown, Shape&, std::vector<double>& values) {
    if (shown == stage) computed.push_back(values);
  };
  EXPECT_THAT(RunTampered(name, Precision::kExact, Precision::kExact, keep), IsOk());
  const SafetensorsFile narrow =
      SafetensorsFile::Open(JoinPath(GoldenCase(name), "golden.safetensors")).value();
  SafetensorsWriter writer;
  for (const std::string& tensor : narrow.names()) {
    TensorView view = narrow.Get(tensor).value();
    for (std::size_t step = 0; step < computed.size(); ++step) {
      if (tensor != "f64.step" + std::to_string(step) + "." + stage) continue;
      view = {DType::kF64, view.shape, std::as_bytes(std::span(computed[step]))};
    }
    EXPECT_THAT(writer.Add(tensor, view), IsOk());
  }
  // The copy may still be mapped: it is replaced, not rewritten.
  EXPECT_THAT(writer.Write(JoinPath(copy, "golden.safetensors")), IsOk());
  return copy;
}

TEST(JudgeTest, SmallestErrorAboveTheExactBoundFails) {
  const std::string stage = "layers.1.k_norm";
  const std::string wide = CaseWithFloat64Stage("dflash_wide_head", stage);
  for (const auto& [factor, failures] :
       {std::pair(0.5e-9, std::size_t{0}), std::pair(2e-9, std::size_t{3})}) {
    DM_ASSERT_OK_AND_ASSIGN(
        const CaseReport report,
        RunTampered(wide, Precision::kExact, Precision::kExact,
                    Only(stage, [f = factor](double v) { return v * (1 + f); })));
    EXPECT_EQ(report.Failures(), failures) << factor;  // one in each step
  }
  // Where a stage is stored as F32, its rounding is allowed and no more.
  DM_ASSERT_OK_AND_ASSIGN(const CaseReport narrow,
                          RunTampered("dflash_wide_head", Precision::kExact, Precision::kExact,
                                      Only(stage, [](double v) { return v * (1 + 1e-7); })));
  ASSERT_NE(narrow.FirstFailure(), nullptr);
  EXPECT_EQ(narrow.Signature(), "step0." + stage + ": bound");
  EXPECT_EQ(narrow.Failures(), 3u);
}

TEST(JudgeTest, WrongTokensFail) {
  const Tamper other_token = [](const std::string& stage, Shape&, std::vector<double>& values) {
    if (stage == "draft_tokens") values[2] = values[2] == 5 ? 6 : 5;
  };
  DM_ASSERT_OK_AND_ASSIGN(const CaseReport exact, RunTampered("dflash_softcap", Precision::kExact,
                                                              Precision::kExact, other_token));
  EXPECT_EQ(exact.Signature(), "step0.draft_tokens: oracle choice");
  DM_ASSERT_OK_AND_ASSIGN(const CaseReport bf16, RunTampered("dflash_softcap", Precision::kBf16,
                                                             Precision::kBf16, other_token));
  EXPECT_EQ(bf16.Signature(), "step0.draft_tokens: own choice");
  EXPECT_THAT(bf16.FirstFailure()->failure, HasSubstr("not the argmax of the run's own logits"));
}

}  // namespace
}  // namespace draftmark
