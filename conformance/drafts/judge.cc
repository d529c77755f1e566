#include "conformance/drafts/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

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
// Stages that follow each run's own path, so that no elementwise comparison with the oracle makes
// sense in BF16.
bool FollowsOwnPath(std::string_view stage) {
  return stage == "margin" || stage == "markov.logits" || stage == "confidence_logits" ||
         (stage.starts_with("selector.") && stage != "selector.hidden_projection");
}

struct Bound {
  double value = 0;
  std::string rule;
};

Bound Bf16Bound(const DrafterCase& drafter_case, std::size_t step, const std::string& stage) {
  std::string source = stage;
  if (stage.ends_with(".k_new")) {
    // PyTorch's BF16 cos and sin dominate its k_new; its k_norm shows what a sound run makes of the
    // same rows.
    source.replace(source.size() - 3, 3, "norm");
  }
  const std::optional<double> torch = drafter_case.TorchError(step, source);
  if (!torch) {
    return {kTorchErrorShare * kTorchErrorCap,
            fmt::format("{} x {} (no PyTorch error recorded)", kTorchErrorShare, kTorchErrorCap)};
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

void JudgeBf16Values(const DrafterCase& drafter_case, StageVerdict& verdict) {
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
  const Bound bound = Bf16Bound(drafter_case, verdict.step, verdict.stage);
  verdict.bound = bound.value;
  verdict.rule = bound.rule;
  if (!(error <= bound.value)) {
    verdict.Fail(FailureKind::kBound, fmt::format("relative L2 error {:.6g} exceeds {:.6g} = {}",
                                                  error, bound.value, bound.rule));
  }
}

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

// B: how far the logits of a sound BF16 run may lie from float64's, and where the figure comes from.
StatusOr<Bound> LogitBound(const DrafterCase& drafter_case, std::size_t step,
                           const TappedStages& tapped) {
  DM_ASSIGN_OR_RETURN(const std::optional<double> torch, drafter_case.TorchMaxLogitError(step));
  if (torch) return Bound{kTorchErrorShare * *torch, "PyTorch's logits"};
  // Without PyTorch's logits this run's own stand in: they are judged before, as a stage of their own.
  DM_ASSIGN_OR_RETURN(const std::optional<ExpectedStage> expected,
                      drafter_case.Expected(step, "logits"));
  const auto logits = tapped.find("logits");
  if (!expected || logits == tapped.end() ||
      logits->second.values.size() != expected->values.size()) {
    return Bound{0, "no logits at all"};
  }
  const double own =
      Compare(expected->shape, expected->values, logits->second.values, UlpUnit::kBf16).max_abs;
  return Bound{kTorchErrorShare * own, "the run's own logits, no PyTorch figure recorded"};
}

// Stages that are stored as BF16 whatever path a run takes. The others are ids, or FP32 scores and gaps.
bool IsStoredAsBf16(std::string_view stage) {
  return !IsIdStage(stage) && stage != "margin" && stage != "selector.scores" &&
         stage != "selector.topk_gap";
}

// A failed verdict if a tapped stage holds a value that BF16 cannot.
std::optional<StageVerdict> NotRepresentable(std::size_t step, const std::string& stage,
                                             const TappedStage& got) {
  const std::optional<std::uint64_t> bad =
      IsStoredAsBf16(stage) ? FirstNotBf16(got.values) : std::nullopt;
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
                   const TappedStages& tapped, const ExpectedStage& expected,
                   const TappedStage& got, StageVerdict& verdict) {
  if (!exact) {
    DM_ASSIGN_OR_RETURN(const Bound bound, LogitBound(drafter_case, verdict.step, tapped));
    DM_ASSIGN_OR_RETURN(const TokenFindings findings,
                        CheckBf16Tokens(drafter_case, weights, verdict.step, tapped, bound.value));
    if (!findings.failure.empty()) {
      verdict.Fail(findings.against_oracle ? FailureKind::kOracleChoice : FailureKind::kOwnChoice,
                   findings.failure);
    }
    verdict.rule = fmt::format(
        "the run's own choice; float64's where its margin exceeds 2B = {:.6g} (B from {}): {} of "
        "{} drafts",
        2 * bound.value, bound.rule, findings.decided, expected.values.size());
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

StatusOr<StageVerdict> JudgeStage(const DrafterCase& drafter_case, const DrafterWeights& weights,
                                  std::size_t step, const std::string& stage, Precision precision,
                                  const TappedStages& tapped, const ExpectedStage& expected,
                                  const LocalStages& local) {
  StageVerdict verdict;
  verdict.step = step;
  verdict.stage = stage;
  const auto found = tapped.find(stage);
  if (found == tapped.end()) {
    verdict.Fail(FailureKind::kMissing, "the backend gave no such stage");
    return verdict;
  }
  const CaseStep& inputs = drafter_case.steps()[step];
  const Shape whole =
      StageShape(drafter_case.config(), stage, inputs.new_context_rows, drafter_case.gamma());
  if (found->second.shape != whole) {
    verdict.Fail(FailureKind::kShape,
                 fmt::format("shape {}, expected {}", ShapeToString(found->second.shape),
                             ShapeToString(whole)));
    return verdict;
  }
  // Long cases hold some rows only.
  const TappedStage got = {expected.shape, SelectRows(whole, found->second.values, expected.rows)};
  const bool exact = precision == Precision::kExact;
  verdict.comparison =
      Compare(expected.shape, expected.values, got.values, exact ? UlpUnit::kF64 : UlpUnit::kBf16);
  if (stage == "draft_tokens") {
    // Ids have no distance: no comparison goes into the report.
    verdict.comparison = Comparison();
    DM_RETURN_IF_ERROR(JudgeTokens(drafter_case, weights, exact, tapped, expected, got, verdict));
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
  JudgeBf16Values(drafter_case, verdict);
  if (const auto own = local.find(stage); verdict.passed() && own != local.end()) {
    if (std::string wrong = NotFromOwnInputs(found->second, own->second); !wrong.empty()) {
      verdict.Fail(FailureKind::kOwnStages, std::move(wrong));
    }
  }
  return verdict;
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
  }
  return "";
}

std::string StageVerdict::Name() const { return fmt::format("step{}.{}", step, stage); }

std::string StageVerdict::Signature() const {
  return passed() ? "" : fmt::format("{}: {}", Name(), FailureKindName(kind));
}

StatusOr<std::vector<StageVerdict>> JudgeStep(const DrafterCase& drafter_case,
                                              const DrafterWeights& weights, std::size_t step,
                                              Precision precision, const TappedStages& tapped,
                                              const LocalStages& local) {
  std::vector<StageVerdict> verdicts;
  for (const std::string& stage : StagesInDataFlowOrder(drafter_case.config())) {
    if (precision == Precision::kBf16) {
      // Every tapped stage, whether the case holds it or not.
      if (const auto found = tapped.find(stage); found != tapped.end()) {
        if (std::optional<StageVerdict> wrong = NotRepresentable(step, stage, found->second)) {
          verdicts.push_back(*std::move(wrong));
          continue;
        }
      }
      if (FollowsOwnPath(stage)) continue;
    }
    DM_ASSIGN_OR_RETURN(const std::optional<ExpectedStage> expected,
                        drafter_case.Expected(step, stage));
    if (!expected) continue;
    DM_ASSIGN_OR_RETURN(StageVerdict verdict, JudgeStage(drafter_case, weights, step, stage,
                                                         precision, tapped, *expected, local));
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

}  // namespace draftmark
