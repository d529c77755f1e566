#include "conformance/drafts/local_oracle.h"

#include <algorithm>
#include <cmath>

#include "conformance/plain/stage_model.h"
#include "src/backend/stages.h"
#include "src/compare/tolerance.h"
#include "src/compare/ulp.h"
#include "src/tensor/bfloat16.h"

namespace draftmark {
namespace {

// Relative to the sum of magnitudes: some thousand additions in float64 stay far below it, and it is far below any BF16
// step.
constexpr double kFloat64Share = 1e-12;

}  // namespace

void LocalOracle::Allow(const std::string& stage, LocalStage& local) const {
  // T0: ids, and logits that are looked up.
  if (IsIdStage(stage) || stage == "selector.unary") {
    local.allowed.assign(local.oracle.size(), 0);
    return;
  }
  const UlpUnit unit = plain::IsBf16Stage(stage) ? UlpUnit::kBf16 : UlpUnit::kF32;
  if (accumulation_ == Accumulation::kFloat32) {
    const double largest = *std::max_element(local.magnitude.begin(), local.magnitude.end());
    ErrorModel model = plain::ModelOf(config_, stage).single;
    model.output = unit;
    local.allowed = Bounds(model, local.oracle, local.magnitude, largest, local.largest);
    return;
  }
  for (std::size_t i = 0; i < local.oracle.size(); ++i) {
    local.allowed.push_back(0.5 * Spacing(local.oracle[i], unit) +
                            kFloat64Share * local.magnitude[i]);
  }
}

// Hands on what the run gave, and keeps what each stage should have been.
class LocalOracle::TapHook : public plain::Hook {
 public:
  explicit TapHook(Precision precision) : precision_(precision) {}
  void Start(const TappedStages& tapped) {
    tapped_ = &tapped;
    local_.clear();
  }
  LocalStages Finish() {
    tapped_ = nullptr;
    return std::move(local_);
  }

  plain::Given Next(const plain::StageId& id, plain::Computed computed) override {
    if (computed.local && !computed.values.empty())
      local_[id.stage] = {
          computed.values, std::move(computed.magnitude), {}, std::move(computed.largest)};
    const auto found = tapped_->find(id.stage);
    if (found != tapped_->end() && found->second.values.size() == computed.values.size()) {
      return {found->second.values, true};
    }
    return {std::move(computed.values), computed.values.empty()};
  }
  const std::vector<double>* Peek(const plain::StageId& id) const override {
    const auto found = tapped_->find(id.stage);
    return found == tapped_->end() ? nullptr : &found->second.values;
  }
  double Round(double value) const override {
    return precision_ == Precision::kBf16 ? BFloat16::FromDouble(value).ToDouble() : value;
  }

 private:
  const Precision precision_;
  const TappedStages* tapped_ = nullptr;  // of the step under way
  LocalStages local_;
};

LocalOracle::LocalOracle(const DrafterCase& drafter_case, Precision precision,
                         Accumulation accumulation)
    : config_(drafter_case.config()),
      accumulation_(accumulation),
      bands_({drafter_case.steps()}),
      hook_(std::make_unique<TapHook>(precision)) {
  options_.float32_angles = precision == Precision::kBf16;
}

StatusOr<std::unique_ptr<LocalOracle>> LocalOracle::Open(const DrafterCase& drafter_case,
                                                         const DrafterWeights& weights,
                                                         Precision precision,
                                                         Accumulation accumulation) {
  std::unique_ptr<LocalOracle> oracle(new LocalOracle(drafter_case, precision, accumulation));
  DM_ASSIGN_OR_RETURN(plain::Steps steps,
                      plain::Steps::Open(oracle->config_, weights, oracle->bands_, oracle->options_,
                                         *oracle->hook_));
  oracle->steps_ = std::move(steps);
  return oracle;
}

LocalOracle::~LocalOracle() = default;

LocalStages LocalOracle::Step(std::size_t /*step*/, const TappedStages& tapped) {
  hook_->Start(tapped);
  steps_->Next();
  LocalStages local = hook_->Finish();
  for (auto& [stage, one] : local) Allow(stage, one);
  return local;
}

LocalFindings CompareWithLocal(const DrafterConfig& config, const TappedStages& tapped,
                               const LocalStages& local) {
  LocalFindings findings;
  std::vector<std::string> stages = StagesInDataFlowOrder(config);
  // What this geometry does not have comes last: it has no oracle either.
  for (const auto& [stage, got] : tapped) {
    if (std::find(stages.begin(), stages.end(), stage) == stages.end()) stages.push_back(stage);
  }
  for (const std::string& stage : stages) {
    const auto got = tapped.find(stage);
    if (got == tapped.end()) continue;
    const auto oracle = local.find(stage);
    if (oracle == local.end() || oracle->second.oracle.size() != got->second.values.size()) {
      findings.without_oracle.push_back(stage);
      continue;
    }
    const BoundedComparison comparison = CompareWithin(got->second.shape, oracle->second.oracle,
                                                       got->second.values, oracle->second.allowed);
    ++findings.checked;
    findings.used_share = std::max(findings.used_share, comparison.used_share);
    if (!comparison.passed() && findings.first_off.empty()) findings.first_off = stage;
  }
  return findings;
}

}  // namespace draftmark
