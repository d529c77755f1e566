#include "conformance/diagnosis/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "conformance/diagnosis/inputs.h"
#include "conformance/plain/sound_run.h"
#include "src/backend/stages.h"
#include "src/base/parallel.h"
#include "src/tensor/bfloat16.h"

namespace draftmark {
namespace {

using plain::Mistake;

// B of each step and band.
using LogitBounds = std::map<std::pair<std::size_t, std::size_t>, double>;
// Relative L2 errors, of stages of which not all inputs were dumped.
using StageErrors = std::map<plain::StageId, double>;

// A dump may be this much further from the exact values than a sound BF16 run is.
constexpr double kSoundFactor = 1.5;
// So may, under the mistakes that it makes, all stages together that are off without them, and one
// of them alone: Hugging Face's chains round more often and reach 1.57 and 1.8.
constexpr double kExplainedFactor = 1.75;
constexpr double kExplainedFactorOfOne = 2.5;
// What a hypothesis explains is off this much further without it: a mistake that is really made
// reaches 16 and more, a relative of it (another rope_theta) 3.
constexpr double kLeastGain = 4;
// So many tokens that the sound run does not choose, and at most one in eight that the hypothesis
// does not choose either, are no coincidence: relatives of a mistake share 5 of 42 with it.
constexpr std::size_t kDecisiveTokens = 8;
// Too few elements for a relative error to say anything.
constexpr std::size_t kFewElements = 64;

bool OffByRelativeError(const StageFinding& finding) {
  return finding.agreement == Agreement::kOff && !finding.local &&
         finding.comparison.elements >= kFewElements && !IsIdStage(finding.id.stage);
}

// A sound BF16 run may be further from the exact values than T4 allows; then so may a dump.
void AllowWhatSoundRunsShow(const StageErrors& sound, StageFinding& finding) {
  if (!OffByRelativeError(finding)) return;
  const auto error = sound.find(finding.id);
  if (error == sound.end() || !(finding.comparison.relative_l2 <= kSoundFactor * error->second))
    return;
  finding.agreement = Agreement::kEndToEnd;
  finding.failure.clear();
}

double RelativeError(const std::vector<double>& exact, const std::vector<double>& other) {
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    error += (other[i] - exact[i]) * (other[i] - exact[i]);
    norm += exact[i] * exact[i];
  }
  if (error == 0) return 0;
  return norm == 0 ? INFINITY : std::sqrt(error / norm);
}

// How far each stage of a run that follows from others than dumped ones is from its exact values.
// Stages that were not dumped are not rounded.
class ErrorHook : public plain::Hook {
 public:
  explicit ErrorHook(const Dump& dump) : dump_(dump) {}

  plain::Given Next(const plain::StageId& id, plain::Computed computed) override {
    const auto dumped = dump_.find(id);
    const bool given = computed.values.empty();
    if (dumped == dump_.end() || !dumped->second.defect.empty() ||
        dumped->second.values.size() != computed.values.size()) {
      return {std::move(computed.values), given};
    }
    if (!computed.local && !IsIdStage(id.stage))
      errors_[id] = RelativeError(computed.values, dumped->second.values);
    return {dumped->second.values, true};
  }
  const std::vector<double>* Peek(const plain::StageId& id) const override {
    const auto dumped = dump_.find(id);
    return dumped != dump_.end() && dumped->second.defect.empty() ? &dumped->second.values
                                                                  : nullptr;
  }
  double Round(double value) const override { return value; }

  StageErrors& errors() { return errors_; }

 private:
  const Dump& dump_;
  StageErrors errors_;
};

// Hands the dump's stages on, judges each, and may stop at the first that is off.
class DumpHook : public plain::Hook {
 public:
  DumpHook(const DrafterConfig& config, const Dump& dump, const LogitBounds& bounds,
           const StageErrors& sound, bool stop_early)
      : config_(config), dump_(dump), bounds_(bounds), sound_(sound), stop_early_(stop_early) {}

  plain::Given Next(const plain::StageId& id, plain::Computed computed) override {
    const auto dumped = dump_.find(id);
    if (dumped != dump_.end()) {
      findings_.push_back(
          JudgeDumpedStage(config_, id, computed, dumped->second, bounds_.at({id.step, id.band})));
      AllowWhatSoundRunsShow(sound_, findings_.back());
      if (id.stage == "draft_tokens") tokens_[id] = computed.values;
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
  // What the rule gives along the run's own choices.
  std::map<plain::StageId, std::vector<double>>& tokens() { return tokens_; }

 private:
  const DrafterConfig& config_;
  const Dump& dump_;
  const LogitBounds& bounds_;
  const StageErrors& sound_;
  const bool stop_early_;
  bool off_ = false;
  std::vector<StageFinding> findings_;
  std::map<plain::StageId, std::vector<double>> tokens_;
};

// Whether a stage is computed after the final norm.
bool InTail(std::string_view stage) {
  return !stage.starts_with("layers.") && stage != "fc" && stage != "hidden_norm" &&
         stage != "norm";
}

// False if the mistake changes nothing up to this stage, so that it cannot mend it.
bool MayMend(const plain::MistakeInfo& info, const plain::StageId& id) {
  // "attn_out of band 1, where its context is longer"
  const std::string_view stage = info.shows.substr(0, info.shows.find_first_of(" ;"));
  const auto only = [&](std::string_view where) {
    return info.shows.substr(stage.size()).starts_with(where);
  };
  if (id.step == 0 && (only(" of step 1") || only(" after a slide"))) return false;
  if (id.band == 0 && id.step == 0 && only(" of band 1")) return false;
  const bool tail =
      stage.find('.') == std::string_view::npos
          ? stage == "logits" || stage == "draft_tokens" || stage == "confidence_logits"
          : stage.starts_with("markov.") || stage.starts_with("selector.");
  return !tail || InTail(id.stage);
}

// How a hypothesis fared.
struct Trial {
  Hypothesis hypothesis;
  bool explains = false;
  std::size_t mended = 0;           // dumped tokens that it gives, and no mistake does not
  std::size_t missed = 0;           // dumped tokens that it does not give
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
      DumpHook hook(config_, dump_, bounds_, sound_, /*stop_early=*/false);
      DM_RETURN_IF_ERROR(plain::Run(config_, weights_, bands_, {.products = &products_[0]}, hook));
      diagnosis.findings = std::move(hook.findings());
      tokens_ = std::move(hook.tokens());
    }
    std::vector<StageFinding>& findings = diagnosis.findings;
    if (std::any_of(findings.begin(), findings.end(), OffByRelativeError)) {
      DM_ASSIGN_OR_RETURN(sound_, SoundErrors({}, products_[0]));
      for (StageFinding& finding : findings) AllowWhatSoundRunsShow(sound_, finding);
    }
    DM_RETURN_IF_ERROR(CheckAllJudged(diagnosis));
    const StageFinding* const first = diagnosis.FirstOff();
    if (first == nullptr) return diagnosis;
    const auto agreed = static_cast<std::size_t>(first - diagnosis.findings.data());
    const plain::Situation situation = {config_, weights_, bands_};
    std::vector<Mistake> applicable;
    std::vector<Hypothesis> single;
    for (const plain::MistakeInfo& info : plain::AllMistakes()) {
      if (!info.applies(situation)) continue;
      applicable.push_back(info.mistake);
      if (MayMend(info, first->id)) single.push_back({info.mistake});
    }
    FindOff(findings);
    std::vector<Trial> trials;
    DM_RETURN_IF_ERROR(TryAll(single, trials));
    if (std::none_of(trials.begin(), trials.end(), [](const Trial& t) { return t.explains; })) {
      DM_RETURN_IF_ERROR(TryPairs(applicable, agreed, trials));
    }
    diagnosis.tested = trials.size();
    std::vector<Hypothesis> best = BestOf(trials);
    (tokens_alone_ && !Decisive(trials) ? diagnosis.consistent : diagnosis.explanations) =
        std::move(best);
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
                        plain::MeasureSoundRun(config_, weights_, bands_, &products_[0]));
    for (const auto& [id, error] : errors) {
      if (!std::isfinite(error.relative_l2)) {
        return InvalidArgumentError(fmt::format(
            "tensor {}: expected values that a sound run can compute with, found some that make {} "
            "overflow",
            JoinTensorName(id.step, id.band, "inputs.target_hidden"),
            JoinTensorName(id.step, id.band, id.stage)));
      }
      if (id.stage == "logits")
        bounds_[{id.step, id.band}] = plain::kLogitBoundShare * error.largest;
    }
    return OkStatus();
  }

  // What a hypothesis has to explain.
  void FindOff(const std::vector<StageFinding>& findings) {
    tokens_alone_ = true;
    for (const StageFinding& finding : findings) {
      if (finding.agreement != Agreement::kOff) continue;
      tokens_alone_ = tokens_alone_ && !finding.local && IsIdStage(finding.id.stage);
      if (OffByRelativeError(finding)) off_[finding.id] = finding.comparison.relative_l2;
    }
  }

  // How far a BF16 run that makes these mistakes and no other is from their exact values, given
  // what was dumped.
  StatusOr<StageErrors> SoundErrors(const Hypothesis& hypothesis,
                                    plain::ProductCache& products) const {
    const plain::Options options = {.mistakes = hypothesis, .products = &products};
    plain::Recorder rounded(plain::Rounding::kBf16);
    DM_RETURN_IF_ERROR(plain::Run(config_, weights_, bands_, options, rounded));
    Dump dump;
    for (const auto& [id, stage] : dump_) {
      const auto values = rounded.values().find(id);
      if (values != rounded.values().end())
        dump[id] = {stage.tensor, stage.shape, values->second, ""};
    }
    ErrorHook hook(dump);
    DM_RETURN_IF_ERROR(plain::Run(config_, weights_, bands_, options, hook));
    return std::move(hook.errors());
  }

  // Whether the dump is as near to the exact values of a hypothesis as a sound run that makes its
  // mistakes, and much nearer than to those of no mistake, where it is off without it.
  StatusOr<bool> AsNearAsASoundRun(const Hypothesis& hypothesis,
                                   plain::ProductCache& products) const {
    DM_ASSIGN_OR_RETURN(const StageErrors sound, SoundErrors(hypothesis, products));
    ErrorHook hook(dump_);
    DM_RETURN_IF_ERROR(plain::Run(config_, weights_, bands_,
                                  {.mistakes = hypothesis, .products = &products}, hook));
    double error = 0;
    double sound_error = 0;
    double without = 0;
    double worst = 0;
    for (const auto& [id, off] : off_) {
      const auto found = hook.errors().find(id);
      const auto expected = sound.find(id);
      if (found == hook.errors().end() || expected == sound.end()) continue;
      worst = std::max(worst, found->second / expected->second);
      error += found->second * found->second;
      sound_error += expected->second * expected->second;
      without += off * off;
    }
    return std::sqrt(error) <= kExplainedFactor * std::sqrt(sound_error) &&
           worst <= kExplainedFactorOfOne && kLeastGain * std::sqrt(error) <= std::sqrt(without);
  }

  // Tokens alone name a mistake only if it alone gives many of them that nothing else gives.
  static bool Decisive(const std::vector<Trial>& trials) {
    std::size_t explaining = 0;
    bool decisive = true;
    for (const Trial& trial : trials) {
      if (!trial.explains) continue;
      ++explaining;
      decisive = decisive && trial.mended >= kDecisiveTokens && 8 * trial.missed <= trial.mended;
    }
    return explaining == 1 && decisive;
  }

  // Runs of a small drafter use one core each, large products all of them.
  Status TryAll(const std::vector<Hypothesis>& hypotheses, std::vector<Trial>& trials) {
    constexpr std::uint64_t kLargeHead = std::uint64_t{1} << 22;
    const bool large = config_.vocab_size * config_.hidden_size >= kLargeHead;
    std::vector<StatusOr<Trial>> results(hypotheses.size(), Trial());
    const auto try_some = [&](std::size_t piece, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) results[i] = Try(hypotheses[i], products_[piece]);
    };
    if (large) {
      try_some(0, 0, hypotheses.size());
    } else {
      products_.resize(std::max(products_.size(), ParallelPieces(hypotheses.size(), 1)));
      ParallelFor(hypotheses.size(), 1, try_some);
    }
    for (StatusOr<Trial>& result : results) {
      DM_ASSIGN_OR_RETURN(Trial trial, std::move(result));
      trials.push_back(std::move(trial));
    }
    return OkStatus();
  }

  StatusOr<Trial> Try(const Hypothesis& hypothesis, plain::ProductCache& products) const {
    DumpHook hook(config_, dump_, bounds_, sound_, /*stop_early=*/true);
    plain::Options options;
    options.mistakes = hypothesis;
    options.products = &products;
    DM_RETURN_IF_ERROR(plain::Run(config_, weights_, bands_, options, hook));
    Trial trial;
    trial.hypothesis = hypothesis;
    trial.explains = !hook.off();
    if (trial.explains && !off_.empty()) {
      DM_ASSIGN_OR_RETURN(trial.explains, AsNearAsASoundRun(hypothesis, products));
    }
    if (trial.explains) CountTokens(hook.tokens(), trial);
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

  void CountTokens(const std::map<plain::StageId, std::vector<double>>& tokens,
                   Trial& trial) const {
    for (const auto& [id, values] : tokens) {
      const std::vector<double>& dumped = dump_.at(id).values;
      const std::vector<double>& sound = tokens_.at(id);
      for (std::size_t d = 0; d < std::min(values.size(), dumped.size()); ++d) {
        if (values[d] != dumped[d]) {
          ++trial.missed;
        } else if (sound.size() != dumped.size() || sound[d] != dumped[d]) {
          ++trial.mended;  // drafts of another number are others as a whole
        }
      }
    }
  }

  // Two mistakes at once: the first must mend at least the first stage off and its next ones.
  // `agreed` stages agreed without any mistake.
  Status TryPairs(const std::vector<Mistake>& applicable, std::size_t agreed,
                  std::vector<Trial>& trials) {
    // Beyond these a dump is too far from all of them.
    constexpr std::size_t kMostStarts = 6;
    // Tokens alone are too few for a pair to be told from chance.
    if (tokens_alone_) return OkStatus();
    std::vector<Trial> starts;
    for (const Trial& trial : trials) {
      if (trial.agreed > agreed) starts.push_back(trial);
    }
    std::stable_sort(starts.begin(), starts.end(),
                     [](const Trial& a, const Trial& b) { return a.agreed > b.agreed; });
    if (starts.size() > kMostStarts) starts.resize(kMostStarts);
    std::vector<Hypothesis> pairs;
    for (const Trial& start : starts) {
      for (const Mistake other : applicable) {
        Hypothesis pair = start.hypothesis;
        if (!pair.insert(other).second) continue;
        if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end())
          pairs.push_back(std::move(pair));
      }
    }
    return TryAll(pairs, trials);
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
    constexpr std::uint64_t kFewBeyond = 8;
    std::vector<Hypothesis> best;
    for (const Trial& trial : trials) {
      if (trial.explains && trial.end_to_end <= 2 * least_error &&
          trial.beyond_single <= 2 * least_beyond + kFewBeyond) {
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
  StageErrors sound_;  // empty until a stage is beyond T4
  StageErrors off_;    // stages that are off by their relative error
  bool tokens_alone_ = false;
  std::map<plain::StageId, std::vector<double>> tokens_;  // of no mistake
  std::vector<plain::ProductCache> products_ = std::vector<plain::ProductCache>(1);  // of threads
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
