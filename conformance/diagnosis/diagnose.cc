#include "conformance/diagnosis/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "conformance/plain/sound_run.h"
#include "src/backend/stages.h"
#include "src/tensor/bfloat16.h"

namespace draftmark {
namespace {

using plain::Mistake;

// B of each step and band.
using LogitBounds = std::map<std::pair<std::size_t, std::size_t>, double>;

// Hands the dump's stages on, judges each, and may stop at the first that is off.
class DumpHook : public plain::Hook {
 public:
  DumpHook(const DrafterConfig& config, const Dump& dump, const LogitBounds& bounds,
           bool stop_early)
      : config_(config), dump_(dump), bounds_(bounds), stop_early_(stop_early) {}

  plain::Given Next(const plain::StageId& id, plain::Computed computed) override {
    const auto dumped = dump_.find(id);
    if (dumped != dump_.end()) {
      findings_.push_back(
          JudgeDumpedStage(config_, id, computed, dumped->second, bounds_.at({id.step, id.band})));
      off_ = off_ || findings_.back().agreement == Agreement::kOff;
      if (dumped->second.defect.empty() && dumped->second.values.size() == computed.values.size()) {
        return {dumped->second.values, true};
      }
    }
    // Nothing is as good as given.
    const bool given = computed.values.empty();
    if (plain::IsBf16Stage(id.stage)) {
      for (double& value : computed.values) value = Round(value);
    }
    return {std::move(computed.values), given};
  }

  const std::vector<double>* Peek(const plain::StageId& id) const override {
    const auto dumped = dump_.find(id);
    return dumped != dump_.end() && dumped->second.defect.empty() ? &dumped->second.values
                                                                  : nullptr;
  }
  double Round(double value) const override { return BFloat16::FromDouble(value).ToDouble(); }
  bool Stop() const override { return stop_early_ && off_; }

  bool off() const { return off_; }
  std::vector<StageFinding>& findings() { return findings_; }

 private:
  const DrafterConfig& config_;
  const Dump& dump_;
  const LogitBounds& bounds_;
  const bool stop_early_;
  bool off_ = false;
  std::vector<StageFinding> findings_;
};

// How a hypothesis fared.
struct Trial {
  Hypothesis hypothesis;
  bool explains = false;
  std::size_t agreed = 0;           // stages before the first that is off
  double end_to_end = 0;            // largest relative L2 error among stages judged by T4
  std::uint64_t beyond_single = 0;  // elements that agree by T3 only
};

class Search {
 public:
  Search(const DrafterConfig& config, const DrafterWeights& weights, const plain::Bands& bands,
         const Dump& dump)
      : config_(config), weights_(weights), bands_(bands), dump_(dump) {}

  StatusOr<Diagnosis> Run() {
    DM_RETURN_IF_ERROR(MeasureSoundRun());
    Diagnosis diagnosis;
    {
      DumpHook hook(config_, dump_, bounds_, /*stop_early=*/false);
      DM_RETURN_IF_ERROR(plain::Run(config_, weights_, bands_, {.products = &products_}, hook));
      diagnosis.findings = std::move(hook.findings());
    }
    DM_RETURN_IF_ERROR(CheckAllJudged(diagnosis));
    const StageFinding* const first = diagnosis.FirstOff();
    if (first == nullptr) return diagnosis;
    const auto agreed = static_cast<std::size_t>(first - diagnosis.findings.data());
    const plain::Situation situation = {config_, weights_, bands_};
    std::vector<Mistake> applicable;
    for (const plain::MistakeInfo& info : plain::AllMistakes()) {
      if (info.applies(situation)) applicable.push_back(info.mistake);
    }
    std::vector<Trial> trials;
    for (const Mistake mistake : applicable) {
      DM_ASSIGN_OR_RETURN(Trial trial, Try({mistake}));
      trials.push_back(std::move(trial));
    }
    if (std::none_of(trials.begin(), trials.end(), [](const Trial& t) { return t.explains; })) {
      DM_RETURN_IF_ERROR(TryPairs(applicable, agreed, trials));
    }
    diagnosis.tested = trials.size();
    diagnosis.explanations = BestOf(trials);
    return diagnosis;
  }

 private:
  // A stage of a head that these weights do not have would pass unseen.
  Status CheckAllJudged(const Diagnosis& diagnosis) const {
    std::set<plain::StageId> judged;
    for (const StageFinding& finding : diagnosis.findings) judged.insert(finding.id);
    for (const auto& [id, stage] : dump_) {
      if (judged.contains(id)) continue;
      return InvalidArgumentError(
          fmt::format("tensor {}: expected a stage that these weights compute, found '{}', whose "
                      "head is absent or off",
                      stage.tensor, id.stage));
    }
    return OkStatus();
  }

  Status MeasureSoundRun() {
    DM_ASSIGN_OR_RETURN(const plain::SoundErrors errors,
                        plain::MeasureSoundRun(config_, weights_, bands_, &products_));
    for (const auto& [id, error] : errors) {
      if (id.stage == "logits")
        bounds_[{id.step, id.band}] = plain::kLogitBoundShare * error.largest;
    }
    return OkStatus();
  }

  StatusOr<Trial> Try(const Hypothesis& hypothesis) {
    DumpHook hook(config_, dump_, bounds_, /*stop_early=*/true);
    plain::Options options;
    options.mistakes = hypothesis;
    options.products = &products_;
    DM_RETURN_IF_ERROR(plain::Run(config_, weights_, bands_, options, hook));
    Trial trial;
    trial.hypothesis = hypothesis;
    trial.explains = !hook.off();
    for (const StageFinding& finding : hook.findings()) {
      if (finding.agreement == Agreement::kOff) break;
      ++trial.agreed;
      trial.beyond_single += finding.beyond_single;
      if (finding.agreement == Agreement::kEndToEnd && !IsIdStage(finding.id.stage) &&
          finding.id.stage != "margin") {
        trial.end_to_end = std::max(trial.end_to_end, finding.comparison.relative_l2);
      }
    }
    return trial;
  }

  // Two mistakes at once: the first must mend at least the first stage off and its next ones.
  // `agreed` stages agreed without any mistake.
  Status TryPairs(const std::vector<Mistake>& applicable, std::size_t agreed,
                  std::vector<Trial>& trials) {
    // Beyond these a dump is too far from all of them.
    constexpr std::size_t kMostStarts = 6;
    // Tokens alone are too few for a pair to be told from chance.
    const bool ids_only = std::all_of(
        dump_.begin(), dump_.end(), [](const auto& entry) { return IsIdStage(entry.first.stage); });
    if (ids_only) return OkStatus();
    std::vector<Trial> starts;
    for (const Trial& trial : trials) {
      if (trial.agreed > agreed) starts.push_back(trial);
    }
    std::stable_sort(starts.begin(), starts.end(),
                     [](const Trial& a, const Trial& b) { return a.agreed > b.agreed; });
    if (starts.size() > kMostStarts) starts.resize(kMostStarts);
    for (const Trial& start : starts) {
      for (const Mistake other : applicable) {
        Hypothesis pair = start.hypothesis;
        if (!pair.insert(other).second) continue;
        const bool known = std::any_of(trials.begin(), trials.end(),
                                       [&](const Trial& t) { return t.hypothesis == pair; });
        if (known) continue;
        DM_ASSIGN_OR_RETURN(Trial trial, Try(pair));
        trials.push_back(std::move(trial));
      }
    }
    return OkStatus();
  }

  static std::vector<Hypothesis> BestOf(const std::vector<Trial>& trials) {
    double least_error = INFINITY;
    std::uint64_t least_beyond = UINT64_MAX;
    for (const Trial& trial : trials) {
      if (!trial.explains) continue;
      least_error = std::min(least_error, trial.end_to_end);
      least_beyond = std::min(least_beyond, trial.beyond_single);
    }
    // A handful of elements at a rounding's edge tells nothing.
    constexpr std::uint64_t kFewElements = 8;
    std::vector<Hypothesis> best;
    for (const Trial& trial : trials) {
      if (trial.explains && trial.end_to_end <= 2 * least_error &&
          trial.beyond_single <= 2 * least_beyond + kFewElements) {
        best.push_back(trial.hypothesis);
      }
    }
    return best;
  }

  const DrafterConfig& config_;
  const DrafterWeights& weights_;
  const plain::Bands& bands_;
  const Dump& dump_;
  LogitBounds bounds_;
  plain::ProductCache products_;
};

}  // namespace

const StageFinding* Diagnosis::FirstOff() const {
  const auto found = std::find_if(findings.begin(), findings.end(), [](const StageFinding& f) {
    return f.agreement == Agreement::kOff;
  });
  return found == findings.end() ? nullptr : &*found;
}

std::size_t Diagnosis::Count(Agreement agreement) const {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [&](const StageFinding& f) { return f.agreement == agreement; }));
}

StatusOr<Diagnosis> Diagnose(const DrafterConfig& config, const DrafterWeights& weights,
                             const plain::Bands& bands, const Dump& dump) {
  return Search(config, weights, bands, dump).Run();
}

}  // namespace draftmark
