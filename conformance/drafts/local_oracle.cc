#include "conformance/drafts/local_oracle.h"

#include <algorithm>
#include <cmath>

#include "conformance/plain/stage_model.h"
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
  if (accumulation_ == Accumulation::kFloat32) {
    const double largest = *std::max_element(local.magnitude.begin(), local.magnitude.end());
    local.allowed =
        Bounds(plain::ModelOf(config_, stage).single, local.oracle, local.magnitude, largest);
    return;
  }
  for (std::size_t i = 0; i < local.oracle.size(); ++i) {
    local.allowed.push_back(0.5 * Spacing(local.oracle[i], UlpUnit::kBf16) +
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
    const bool head = !plain::IsBf16Stage(id.stage) || id.stage == "selector.unary" ||
                      id.stage == "markov.logits" || id.stage == "confidence_logits";
    const bool told = computed.local && !computed.values.empty();
    // In BF16 heads have rules of their own (token_rules.h).
    if (told && (!head || precision_ == Precision::kExact))
      local_[id.stage] = {computed.values, std::move(computed.magnitude), {}};
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

LocalOracle::LocalOracle(const DrafterCase& drafter_case, const DrafterWeights& weights,
                         Precision precision, Accumulation accumulation)
    : config_(drafter_case.config()),
      accumulation_(accumulation),
      bands_({drafter_case.steps()}),
      hook_(std::make_unique<TapHook>(precision)) {
  options_.float32_angles = precision == Precision::kBf16;
  StatusOr<plain::Steps> steps = plain::Steps::Open(config_, weights, bands_, options_, *hook_);
  if (steps.ok()) steps_ = std::move(steps).value();
}

LocalOracle::~LocalOracle() = default;

LocalStages LocalOracle::Step(std::size_t /*step*/, const TappedStages& tapped) {
  if (!steps_) return {};
  hook_->Start(tapped);
  steps_->Next();
  LocalStages local = hook_->Finish();
  for (auto& [stage, one] : local) Allow(stage, one);
  return local;
}

}  // namespace draftmark
