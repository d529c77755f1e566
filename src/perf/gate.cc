#include "src/perf/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "src/base/check.h"
#include "src/base/counter_hash.h"
#include "src/perf/mann_whitney.h"

namespace draftmark {
namespace {

std::vector<double> ValuesOf(const std::vector<RunValue>& runs) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const RunValue& run : runs) values.push_back(run.value);
  return values;
}

// The runs of one side, and how often each case should be among them.
struct SideRuns {
  std::vector<BenchmarkReport> reports = {};
  std::map<std::string, std::size_t> wanted = {};

  void Add(BenchmarkReport report, const std::vector<std::string>& cases) {
    const std::set<std::string> kept(cases.begin(), cases.end());
    if (!cases.empty()) {
      std::erase_if(report.cases, [&](const BenchmarkCase& c) { return !kept.contains(c.name); });
    }
    reports.push_back(std::move(report));
  }

  // A case that is not in every run it was asked of has no verdict.
  StatusOr<PerfSide> Collect(std::string_view name, std::size_t all_runs) const {
    DM_ASSIGN_OR_RETURN(PerfSide side, CollectSide(reports));
    side.assumed = false;
    for (PerfCaseRuns& found : side.cases) {
      const auto more = wanted.find(found.name);
      const std::size_t expected = all_runs + (more == wanted.end() ? 0 : more->second);
      if (found.failure.empty() && found.runs.size() != expected) {
        found.failure =
            fmt::format("in {} of {} runs of {} only", found.runs.size(), expected, name);
      }
    }
    return side;
  }
};

class Gate {
 public:
  Gate(const GateOptions& options, GateRunner& runner) : options_(options), runner_(runner) {}

  StatusOr<GateResult> Run() {
    DM_RETURN_IF_ERROR(Measure(GateStage::kFirst, kFirstLookRuns, options_.cases, looks_));
    result_.context = looks_[0].reports.front().context;
    DM_RETURN_IF_ERROR(JudgeAll());
    DM_RETURN_IF_ERROR(CheckCases());
    const std::vector<std::string> noisy = NamesOf([](const GateCase& c) {
      return c.judged.judgement && WantedRuns(c.judged) > kFirstLookRuns;
    });
    DM_RETURN_IF_ERROR(MeasureMore(GateStage::kFirst, kNoisyRuns - kFirstLookRuns, noisy));
    const std::vector<std::string> unclear =
        NamesOf([](const GateCase& c) { return c.judged.add_runs > 0; });
    for (GateCase& c : result_.cases) {
      if (c.judged.add_runs > 0) c.look = Look::kSecond;
    }
    DM_RETURN_IF_ERROR(MeasureMore(GateStage::kSecond, kAddedRuns, unclear));
    DM_RETURN_IF_ERROR(Confirm());
    std::vector<PerfCase> judged;
    for (const GateCase& c : result_.cases) judged.push_back(c.judged);
    result_.verdict = VerdictOf(judged);
    return std::move(result_);
  }

 private:
  using Sides = SideRuns[2];  // base, new

  static std::size_t WantedRuns(const PerfCase& judged) {
    return std::max(RunsFor(judged.judgement->variation),
                    judged.in_cycles ? RunsFor(judged.in_cycles->variation) : 0);
  }

  template <typename F>
  std::vector<std::string> NamesOf(const F& is_one) const {
    std::vector<std::string> names;
    for (const GateCase& c : result_.cases) {
      if (is_one(c)) names.push_back(c.judged.name);
    }
    return names;
  }

  // One process, again while it was disturbed.
  StatusOr<BenchmarkReport> RunOnce(GateRun run) {
    while (true) {
      run.seed = BitsAt(options_.seed, result_.runs);
      ++result_.runs;
      DM_ASSIGN_OR_RETURN(BenchmarkReport report, runner_.Run(run));
      const bool disturbed =
          std::any_of(report.cases.begin(), report.cases.end(),
                      [](const BenchmarkCase& c) { return !TooManyVoid(c).empty(); });
      if (!disturbed || run.attempt == options_.retries) return report;
      ++run.attempt;
      ++result_.disturbed;
    }
  }

  // `count` runs of each side: A B B A A B B A ...
  Status Measure(GateStage stage, std::size_t count, const std::vector<std::string>& cases,
                 Sides& sides) {
    const std::size_t before = number_[static_cast<std::size_t>(stage)];
    for (std::size_t i = 0; i < 2 * count; ++i) {
      const GateSide side = (i + 1) % 4 < 2 ? GateSide::kBase : GateSide::kNew;
      DM_ASSIGN_OR_RETURN(
          BenchmarkReport report,
          RunOnce({.stage = stage, .side = side, .number = before + i / 2, .cases = cases}));
      sides[side == GateSide::kNew].Add(std::move(report), cases);
    }
    number_[static_cast<std::size_t>(stage)] += count;
    return OkStatus();
  }

  Status MeasureMore(GateStage stage, std::size_t count, const std::vector<std::string>& cases) {
    if (cases.empty()) return OkStatus();
    DM_RETURN_IF_ERROR(Measure(stage, count, cases, looks_));
    for (SideRuns& side : looks_) {
      for (const std::string& name : cases) side.wanted[name] += count;
    }
    return JudgeAll();
  }

  // A case that got no more runs comes out as before.
  Status JudgeAll() {
    DM_ASSIGN_OR_RETURN(const PerfSide base,
                        looks_[0].Collect(options_.names.base, kFirstLookRuns));
    DM_ASSIGN_OR_RETURN(const PerfSide next,
                        looks_[1].Collect(options_.names.next, kFirstLookRuns));
    std::map<std::string, Look> looks;
    for (const GateCase& c : result_.cases) looks[c.judged.name] = c.look;
    result_.cases.clear();
    result_.only_base.clear();
    result_.only_next.clear();
    std::map<std::string, const PerfCaseRuns*> of_next;
    for (const PerfCaseRuns& runs : next.cases) of_next.emplace(runs.name, &runs);
    for (const PerfCaseRuns& runs : base.cases) {
      const auto found = of_next.find(runs.name);
      if (found == of_next.end()) {
        result_.only_base.push_back(runs.name);
        continue;
      }
      DM_RETURN_IF_ERROR(JudgeOne(runs, *found->second, looks[runs.name]));
      of_next.erase(found);
    }
    for (const PerfCaseRuns& runs : next.cases) {
      if (of_next.contains(runs.name)) result_.only_next.push_back(runs.name);
    }
    if (!result_.cases.empty()) return OkStatus();
    return NotFoundError(fmt::format(
        "{0} and {1} have no case in common: {2} only in {0}, {3} only in {1}", options_.names.base,
        options_.names.next, result_.only_base.size(), result_.only_next.size()));
  }

  // A case that was asked for and is not judged must not pass for one that is good.
  Status CheckCases() const {
    for (const std::string& name : options_.cases) {
      if (std::none_of(result_.cases.begin(), result_.cases.end(),
                       [&](const GateCase& c) { return c.judged.name == name; })) {
        return NotFoundError(fmt::format("--case: {} and {} do not both have {}",
                                         options_.names.base, options_.names.next, name));
      }
    }
    return OkStatus();
  }

  Status JudgeOne(const PerfCaseRuns& base, const PerfCaseRuns& next, Look look) {
    const double floor = FloorOf(runner_.AaSpread(base.name));
    DM_ASSIGN_OR_RETURN(PerfCase judged, JudgeCase(base, next, {.look = look, .floor = floor}));
    result_.cases.push_back({.judged = std::move(judged), .look = look, .floor = floor});
    return OkStatus();
  }

  Status Confirm() {
    const std::vector<std::string> slower =
        NamesOf([](const GateCase& c) { return c.judged.verdict == Verdict::kSlower; });
    if (slower.empty()) return OkStatus();
    Sides fresh;
    DM_RETURN_IF_ERROR(Measure(GateStage::kConfirm, kConfirmRuns, slower, fresh));
    DM_ASSIGN_OR_RETURN(const PerfSide base, fresh[0].Collect(options_.names.base, kConfirmRuns));
    DM_ASSIGN_OR_RETURN(const PerfSide next, fresh[1].Collect(options_.names.next, kConfirmRuns));
    for (GateCase& c : result_.cases) {
      if (c.judged.verdict == Verdict::kSlower) ConfirmOne(base, next, c);
    }
    return OkStatus();
  }

  static const PerfCaseRuns* Find(const PerfSide& side, const std::string& name) {
    const auto found = std::find_if(side.cases.begin(), side.cases.end(),
                                    [&](const PerfCaseRuns& runs) { return runs.name == name; });
    return found == side.cases.end() ? nullptr : &*found;
  }

  static void ConfirmOne(const PerfSide& base_side, const PerfSide& next_side, GateCase& c) {
    const PerfCaseRuns* const base = Find(base_side, c.judged.name);
    const PerfCaseRuns* const next = Find(next_side, c.judged.name);
    if (base == nullptr || next == nullptr || !base->failure.empty() || !next->failure.empty()) {
      c.judged.verdict = Verdict::kInvalid;
      c.judged.reason = "slower, but the fresh runs failed: ";
      c.judged.reason += base == nullptr || next == nullptr ? "the case is not in them"
                         : base->failure.empty()            ? next->failure
                                                            : base->failure;
      return;
    }
    const std::vector<double> base_values = ValuesOf(base->runs);
    const std::vector<double> next_values = ValuesOf(next->runs);
    c.fresh_runs = true;
    c.fresh_ratio = Median(next_values) / Median(base_values);
    c.fresh_p = MannWhitneyP(base_values, next_values);
    c.confirmed = Confirms(base_values, next_values) &&
                  (!c.judged.in_cycles || Confirms(ValuesOf(base->cycles), ValuesOf(next->cycles)));
    if (c.confirmed) return;
    c.judged.verdict = Verdict::kUnclear;
    c.judged.reason = fmt::format("slower, which {0}+{0} fresh runs do not confirm", kConfirmRuns);
  }

  const GateOptions& options_;
  GateRunner& runner_;
  Sides looks_;
  std::size_t number_[3] = {};  // runs of each side so far, by stage
  GateResult result_;
};

}  // namespace

std::string_view GateSideName(GateSide side) { return side == GateSide::kBase ? "base" : "new"; }

std::string_view GateStageName(GateStage stage) {
  switch (stage) {
    case GateStage::kFirst:
      return "first";
    case GateStage::kSecond:
      return "second";
    case GateStage::kConfirm:
      return "confirm";
  }
  DM_CHECK(false);
  return "";
}

StatusOr<GateResult> RunGate(const GateOptions& options, GateRunner& runner) {
  return Gate(options, runner).Run();
}

}  // namespace draftmark
