#include "conformance/drafts/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "conformance/plain/forward.h"
#include "conformance/plain/sound_run.h"
#include "src/backend/stages.h"
#include "src/compare/tolerance.h"
#include "src/tensor/bfloat16.h"

namespace draftmark {
namespace {

// Bounds of the contract; cases/README.md and the recorded errors say why they are what they are.
constexpr double kExactBound = 1e-9;
constexpr double kExactYarnBound = 1e-6;
// Half a spacing of F32, which every element of a stage that is stored as F32 may be off by.
constexpr double kExactF32Bound = 0x1p-24;
constexpr double kTorchErrorShare = 1.5;
constexpr double kTorchErrorCap = 0.02;
constexpr double kFcDeviation = 0.02;
constexpr double kEndToEndError = 0.02;
constexpr double kEndToEndLogitError = 0.025;

// Stages that follow each run's own path, so that no elementwise comparison with the oracle makes
// sense in BF16: only its own earlier stages say what they should be.
bool FollowsOwnPath(std::string_view stage) {
  return stage == "margin" || stage == "markov.logits" || stage == "confidence_logits" ||
         (stage.starts_with("selector.") && stage != "selector.hidden_projection");
}

struct Bound {
  double value = 0;
  std::string rule;
};

Bound Bf16Bound(const DrafterCase& drafter_case, std::size_t step, const std::string& stage,
                const StepBounds& bounds) {
  std::string source = stage;
  if (stage.ends_with(".k_new")) {
    // PyTorch's BF16 cos and sin dominate its k_new; its k_norm shows what a sound run makes of the
    // same rows.
    source.replace(source.size() - 3, 3, "norm");
  }
  const std::optional<double> torch = drafter_case.TorchError(step, source);
  if (!torch) {
    const double bound = stage == "logits" ? kEndToEndLogitError : kEndToEndError;
    const auto sound = bounds.sound_errors.find(stage);
    if (sound != bounds.sound_errors.end() && sound->second > bound) {
      // As with a recorded error, whose cap it keeps.
      return {kTorchErrorShare * kTorchErrorCap,
              fmt::format("{} x {} (a sound run's error is {:.6g}, beyond T4's {})",
                          kTorchErrorShare, kTorchErrorCap, sound->second, bound)};
    }
    return {bound, "T4, no PyTorch error recorded"};
  }
  const double smaller = source == stage ? std::min(*torch, kTorchErrorCap) : *torch;
  return {kTorchErrorShare * smaller,
          fmt::format("{} x {:.6g} ({} {:.6g})", kTorchErrorShare, smaller,
                      source == stage ? "PyTorch's error" : "PyTorch's k_norm error", *torch)};
}

// The first value that BF16 cannot hold, if any.
std::optional<std::uint64_t> FirstNotBf16(std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i]) && BFloat16::FromDouble(values[i]).ToDouble() != values[i]) return i;
  }
  return std::nullopt;
}

void JudgeBf16Values(const DrafterCase& drafter_case, const StepBounds& bounds,
                     StageVerdict& verdict) {
  const double error = verdict.comparison.relative_l2;
  if (verdict.stage == "fc") {
    const std::optional<double> torch = drafter_case.TorchError(verdict.step, "fc");
    if (torch && *torch > 0) {
      verdict.bound = *torch * (1 + kFcDeviation);
      verdict.rule =
          fmt::format("within {:g} % of PyTorch's error {:.6g}", 100 * kFcDeviation, *torch);
      // Also from below: an error that is too small means that nothing was rounded.
      if (!(std::abs(error / *torch - 1) <= kFcDeviation)) {
        verdict.Fail(FailureKind::kBound,
                     fmt::format("relative L2 error {:.6g} is not {}", error, verdict.rule));
      }
      return;
    }
  }
  const Bound bound = Bf16Bound(drafter_case, verdict.step, verdict.stage, bounds);
  verdict.bound = bound.value;
  verdict.rule = bound.rule;
  if (!(error <= bound.value)) {
    verdict.Fail(FailureKind::kBound, fmt::format("relative L2 error {:.6g} exceeds {:.6g} = {}",
                                                  error, bound.value, bound.rule));
  }
}

constexpr std::string_view kNoLocalOracle =
    "cannot be told from the run's own earlier stages: one is missing or misshapen";

// Empty if every element lies within what its local oracle allows; else the worst one.
std::string NotFromOwnInputs(const TappedStage& got, const LocalStage& local) {
  if (got.values.size() != local.oracle.size()) return "";
  const BoundedComparison own = CompareWithin(got.shape, local.oracle, got.values, local.allowed);
  if (own.passed()) return "";
  const std::size_t i = own.tightest;
  return fmt::format(
      "element {} is {:.9g}, but the run's own earlier stages give {:.9g}: {:.3g} BF16 ULPs off, "
      "{:.3g} allowed "
      "({} of {} elements are off)",
      LogicalIndex(got.shape, i), got.values[i], local.oracle[i],
      UlpDistance(local.oracle[i], got.values[i], UlpUnit::kBf16),
      local.allowed[i] / Spacing(local.oracle[i], UlpUnit::kBf16), own.exceeding,
      got.values.size());
}

// A failed verdict if a tapped stage holds a value that BF16 cannot.
std::optional<StageVerdict> NotRepresentable(std::size_t step, const std::string& stage,
                                             const TappedStage& got) {
  const std::optional<std::uint64_t> bad =
      plain::IsBf16Stage(stage) ? FirstNotBf16(got.values) : std::nullopt;
  if (!bad) return std::nullopt;
  StageVerdict verdict;
  verdict.step = step;
  verdict.stage = stage;
  verdict.Fail(FailureKind::kNotRepresentable,
               fmt::format("element {} = {:.17g} is no BF16 number: the stage was not rounded",
                           LogicalIndex(got.shape, *bad), got.values[*bad]));
  return verdict;
}

Status JudgeTokens(const DrafterCase& drafter_case, const DrafterWeights& weights, bool exact,
                   const TappedStages& tapped, const StepBounds& bounds,
                   const ExpectedStage& expected, const TappedStage& got, StageVerdict& verdict) {
  if (!exact) {
    DM_ASSIGN_OR_RETURN(
        const TokenFindings findings,
        CheckBf16Tokens(drafter_case, weights, verdict.step, tapped, bounds.logit_bound));
    if (!findings.failure.empty()) {
      verdict.Fail(findings.against_oracle ? FailureKind::kOracleChoice : FailureKind::kOwnChoice,
                   findings.failure);
    }
    verdict.rule = fmt::format(
        "the run's own choice; float64's where its margin exceeds 2B = {:.6g} (B from {}): {} of "
        "{} drafts",
        2 * bounds.logit_bound, bounds.logit_source, findings.decided, expected.values.size());
    return OkStatus();
  }
  verdict.rule = "tokens equal";
  for (std::size_t i = 0; i < got.values.size() && verdict.passed(); ++i) {
    if (got.values[i] != expected.values[i]) {
      verdict.Fail(FailureKind::kOracleChoice, fmt::format("draft {}: token {}, expected {}", i,
                                                           got.values[i], expected.values[i]));
    }
  }
  return OkStatus();
}

// Fails the verdict if the stage is missing or has another shape; sets its shape.
void JudgeShape(const DrafterCase& drafter_case, const TappedStages& tapped, StageVerdict& verdict,
                Shape& whole) {
  const CaseStep& inputs = drafter_case.steps()[verdict.step];
  whole = StageShape(drafter_case.config(), verdict.stage, inputs.new_context_rows,
                     inputs.block_tokens.size());
  const auto found = tapped.find(verdict.stage);
  if (found == tapped.end()) {
    verdict.Fail(FailureKind::kMissing, "the backend gave no such stage");
  } else if (found->second.shape != whole) {
    verdict.Fail(FailureKind::kShape,
                 fmt::format("shape {}, expected {}", ShapeToString(found->second.shape),
                             ShapeToString(whole)));
  }
}

// A stage of context rows where a step has no new ones: that it is there says all.
bool IsEmpty(const Shape& shape) {
  return std::find(shape.begin(), shape.end(), 0u) != shape.end();
}

// By the run's own earlier stages alone.
StageVerdict JudgeByOwnStages(const DrafterCase& drafter_case, std::size_t step,
                              const std::string& stage, const TappedStages& tapped,
                              const LocalStages& local) {
  StageVerdict verdict;
  verdict.step = step;
  verdict.stage = stage;
  verdict.rule = "the run's own earlier stages";
  Shape whole;
  JudgeShape(drafter_case, tapped, verdict, whole);
  if (!verdict.passed() || IsEmpty(whole)) return verdict;
  const auto own = local.find(stage);
  if (own == local.end()) {
    verdict.Fail(FailureKind::kOwnStages, std::string(kNoLocalOracle));
    return verdict;
  }
  const TappedStage& got = tapped.find(stage)->second;
  if (!IsIdStage(stage))
    verdict.comparison = Compare(whole, own->second.oracle, got.values, UlpUnit::kBf16);
  if (std::string wrong = NotFromOwnInputs(got, own->second); !wrong.empty())
    verdict.Fail(FailureKind::kOwnStages, std::move(wrong));
  return verdict;
}

StatusOr<StageVerdict> JudgeStage(const DrafterCase& drafter_case, const DrafterWeights& weights,
                                  std::size_t step, const std::string& stage, Precision precision,
                                  const TappedStages& tapped, const ExpectedStage& expected,
                                  const LocalStages& local, const StepBounds& bounds) {
  StageVerdict verdict;
  verdict.step = step;
  verdict.stage = stage;
  Shape whole;
  JudgeShape(drafter_case, tapped, verdict, whole);
  if (!verdict.passed() || IsEmpty(whole)) return verdict;
  const TappedStage& found = tapped.find(stage)->second;
  // Long cases hold some rows only.
  const TappedStage got = {expected.shape, SelectRows(whole, found.values, expected.rows)};
  const bool exact = precision == Precision::kExact;
  verdict.comparison =
      Compare(expected.shape, expected.values, got.values, exact ? UlpUnit::kF64 : UlpUnit::kBf16);
  if (stage == "draft_tokens") {
    // Ids have no distance: no comparison goes into the report.
    verdict.comparison = Comparison();
    DM_RETURN_IF_ERROR(
        JudgeTokens(drafter_case, weights, exact, tapped, bounds, expected, got, verdict));
    return verdict;
  }
  if (exact) {
    const bool yarn = drafter_case.config().rope.type == "yarn" && !drafter_case.generator();
    const bool narrow = expected.dtype == DType::kF32;
    verdict.bound = yarn ? kExactYarnBound : narrow ? kExactF32Bound : kExactBound;
    verdict.rule = yarn     ? "float64, YaRN frequencies of the case in float32"
                   : narrow ? "float64, stored as F32"
                            : "float64";
    if (!(verdict.comparison.relative_l2 <= verdict.bound)) {
      verdict.Fail(FailureKind::kBound,
                   fmt::format("relative L2 error {:.6g} exceeds {:g} ({})",
                               verdict.comparison.relative_l2, verdict.bound, verdict.rule));
    }
    return verdict;
  }
  if (drafter_case.end_to_end()) {
    JudgeBf16Values(drafter_case, bounds, verdict);
  } else {
    verdict.rule = "the run's own earlier stages";
  }
  if (!verdict.passed()) return verdict;
  if (const auto own = local.find(stage); own == local.end()) {
    verdict.Fail(FailureKind::kOwnStages, std::string(kNoLocalOracle));
  } else {
    if (std::string wrong = NotFromOwnInputs(found, own->second); !wrong.empty()) {
      verdict.Fail(FailureKind::kOwnStages, std::move(wrong));
    }
  }
  return verdict;
}

// Whether a drafter with these weights has the stage at all; those of its kind, but for absent
// heads.
bool HasStage(const DrafterWeights& weights, std::string_view stage) {
  if (stage == "confidence_logits") return weights.confidence.present();
  if (stage.starts_with("selector.")) return weights.selector.present();
  return true;
}

}  // namespace

std::string_view FailureKindName(FailureKind kind) {
  switch (kind) {
    case FailureKind::kNone:
      return "";
    case FailureKind::kMissing:
      return "missing";
    case FailureKind::kShape:
      return "shape";
    case FailureKind::kNotRepresentable:
      return "not representable";
    case FailureKind::kBound:
      return "bound";
    case FailureKind::kOwnStages:
      return "own stages";
    case FailureKind::kOwnChoice:
      return "own choice";
    case FailureKind::kOracleChoice:
      return "oracle choice";
    case FailureKind::kReplay:
      return "replay";
  }
  return "";
}

std::string StageVerdict::Name() const { return fmt::format("step{}.{}", step, stage); }

std::string StageVerdict::Signature() const {
  return passed() ? "" : fmt::format("{}: {}", Name(), FailureKindName(kind));
}

StatusOr<std::vector<StepBounds>> BoundsOfSteps(const DrafterCase& drafter_case,
                                                const DrafterWeights& weights) {
  std::vector<StepBounds> bounds(drafter_case.steps().size());
  if (!drafter_case.end_to_end()) {
    for (StepBounds& step : bounds) {
      step = {std::numeric_limits<double>::infinity(), "none: not judged end to end", {}};
    }
    return bounds;
  }
  plain::SoundErrors sound;  // once it is needed
  for (std::size_t step = 0; step < bounds.size(); ++step) {
    DM_ASSIGN_OR_RETURN(const std::optional<double> torch, drafter_case.TorchMaxLogitError(step));
    if (torch) {
      bounds[step] = {plain::kLogitBoundShare * *torch, "PyTorch's logits", {}};
      continue;
    }
    if (sound.empty()) {
      DM_ASSIGN_OR_RETURN(
          sound, plain::MeasureSoundRun(drafter_case.config(), weights, {drafter_case.steps()}));
    }
    bounds[step] = {plain::kLogitBoundShare * sound.at({step, 0, "logits"}).largest,
                    "a sound run, no PyTorch figure recorded",
                    {}};
    for (const auto& [id, error] : sound) {
      if (id.step == step) bounds[step].sound_errors[id.stage] = error.relative_l2;
    }
  }
  return bounds;
}

StatusOr<std::vector<StageVerdict>> JudgeStep(const DrafterCase& drafter_case,
                                              const DrafterWeights& weights, std::size_t step,
                                              Precision precision, const TappedStages& tapped,
                                              const LocalStages& local, const StepBounds& bounds) {
  const bool exact = precision == Precision::kExact;
  std::vector<StageVerdict> verdicts;
  for (const std::string& stage : StagesInDataFlowOrder(drafter_case.config())) {
    const auto found = tapped.find(stage);
    if (!exact && found == tapped.end() && !HasStage(weights, stage)) continue;
    if (!exact && found != tapped.end()) {
      if (std::optional<StageVerdict> wrong = NotRepresentable(step, stage, found->second)) {
        verdicts.push_back(*std::move(wrong));
        continue;
      }
    }
    DM_ASSIGN_OR_RETURN(const std::optional<ExpectedStage> expected,
                        drafter_case.Expected(step, stage));
    if (expected && (exact || !FollowsOwnPath(stage))) {
      DM_ASSIGN_OR_RETURN(StageVerdict verdict,
                          JudgeStage(drafter_case, weights, step, stage, precision, tapped,
                                     *expected, local, bounds));
      verdicts.push_back(std::move(verdict));
    } else if (!exact) {
      verdicts.push_back(JudgeByOwnStages(drafter_case, step, stage, tapped, local));
    }
  }
  return verdicts;
}

}  // namespace draftmark
