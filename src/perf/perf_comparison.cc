#include "src/perf/perf_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "src/perf/benchmark_counters.h"
#include "src/perf/mann_whitney.h"

namespace draftmark {
namespace {

Status UnitError(const std::string& field, const std::string& found, const std::string& other_field,
                 const std::string& expected) {
  return DataLossError(
      fmt::format("{}: expected {} as in {}, found {}", field, expected, other_field, found));
}

Status AddReport(const BenchmarkReport& report, bool assumed,
                 std::map<std::string, std::size_t>& index, PerfSide& side) {
  for (const BenchmarkCase& found : report.cases) {
    const auto [at, is_new] = index.emplace(found.name, side.cases.size());
    if (is_new) side.cases.push_back({.name = found.name});
    PerfCaseRuns& runs = side.cases[at->second];
    if (runs.failure.empty()) runs.failure = found.failure;
    if (const std::string reason = TooManyVoid(found); runs.failure.empty() && !reason.empty()) {
      runs.failure = fmt::format("{}: {}", report.source, reason);
    }
    AddCounts(found.counts, runs.counts);
    if (found.seconds.empty()) continue;
    if (runs.unit.empty()) {
      runs.unit = found.unit;
      runs.unit_field = found.unit_field;
    }
    if (runs.unit != found.unit) {
      return UnitError(found.unit_field, found.unit, runs.unit_field, runs.unit);
    }
    if (assumed) {
      for (const double seconds : found.seconds) runs.runs.push_back(RunValueOf({seconds}));
      for (const double cycles : found.cycles) runs.cycles.push_back(RunValueOf({cycles}));
    } else {
      runs.runs.push_back(RunValueOf(found.seconds));
      if (!found.cycles.empty()) runs.cycles.push_back(RunValueOf(found.cycles));
    }
    if (runs.runs.size() > kMostRuns) {
      return InvalidArgumentError(fmt::format("{}: benchmarks: {} has more than {} runs",
                                              report.source, found.name, kMostRuns));
    }
  }
  return OkStatus();
}

std::vector<double> ValuesOf(const std::vector<RunValue>& runs) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const RunValue& run : runs) values.push_back(run.value);
  return values;
}

// Time and cycles must say the same; what they say then is the verdict.
void Agree(PerfCase& judged) {
  const Judgement& time = *judged.judgement;
  const Judgement& cycles = *judged.in_cycles;
  judged.add_runs = std::max(time.add_runs, cycles.add_runs);
  if (time.verdict == cycles.verdict || time.verdict == Verdict::kInvalid) return;
  judged.verdict = Verdict::kUnclear;
  judged.reason =
      fmt::format("time says {} ({:.4f}), cycles say {} ({:.4f})", VerdictName(time.verdict),
                  time.ratio, VerdictName(cycles.verdict), cycles.ratio);
}

const PerfCaseRuns* Find(const PerfSide& side, const std::map<std::string, std::size_t>& index,
                         const std::string& name) {
  const auto at = index.find(name);
  return at == index.end() ? nullptr : &side.cases[at->second];
}

std::map<std::string, std::size_t> IndexOf(const PerfSide& side) {
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < side.cases.size(); ++i) index.emplace(side.cases[i].name, i);
  return index;
}

}  // namespace

std::string TooManyVoid(const BenchmarkCase& found) {
  if (found.voided <= kMostVoided * found.samples) return "";
  std::string reasons;
  for (const auto& [reason, samples] : found.void_reasons) {
    reasons += fmt::format("{}{} {}", reasons.empty() ? " (" : ", ", reason, samples);
  }
  if (!reasons.empty()) reasons += ")";
  return fmt::format("{} of {} samples are void{}", found.voided, found.samples, reasons);
}

StatusOr<PerfCase> JudgeCase(const PerfCaseRuns& base, const PerfCaseRuns& next,
                             const JudgeOptions& options) {
  if (!base.unit.empty() && !next.unit.empty() && base.unit != next.unit) {
    return UnitError(next.unit_field, next.unit, base.unit_field, base.unit);
  }
  PerfCase judged{.name = base.name,
                  .reason = base.failure.empty() ? next.failure : base.failure,
                  .judgement = {},
                  .in_cycles = {},
                  .base = base.runs,
                  .next = next.runs,
                  .unit = base.unit.empty() ? next.unit : base.unit,
                  .counts = CompareCountRanges(base.counts, next.counts)};
  if (!judged.reason.empty()) return judged;
  if (base.runs.empty() || next.runs.empty()) {
    const bool counts_only = base.runs.empty() && next.runs.empty();
    if (counts_only) judged.verdict = Verdict::kSame;
    judged.reason = counts_only         ? "counts only"
                    : base.runs.empty() ? "no time in BASE"
                                        : "no time in NEW";
    return judged;
  }
  judged.judgement = Judge(ValuesOf(base.runs), ValuesOf(next.runs), options);
  judged.verdict = judged.judgement->verdict;
  judged.reason = judged.judgement->reason;
  judged.add_runs = judged.judgement->add_runs;
  if (base.cycles.size() == base.runs.size() && next.cycles.size() == next.runs.size()) {
    judged.in_cycles = Judge(ValuesOf(base.cycles), ValuesOf(next.cycles), options);
    Agree(judged);
  }
  return judged;
}

std::size_t PerfCase::LargerCounts() const {
  return static_cast<std::size_t>(std::count_if(
      counts.begin(), counts.end(), [](const CountComparison& count) { return count.Larger(); }));
}

std::size_t PerfCase::MissingCounts() const {
  return static_cast<std::size_t>(std::count_if(
      counts.begin(), counts.end(), [](const CountComparison& count) { return count.Missing(); }));
}

std::string MissingInNew::ToString() const {
  if (!any()) return "";
  const auto words = [](std::size_t count, const char* word) {
    return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
  };
  std::string text;
  if (cases > 0) text = words(cases, "case");
  if (counts > 0) text += (text.empty() ? "" : " and ") + words(counts, "count");
  return text + (cases + counts == 1 ? " of BASE is not in NEW" : " of BASE are not in NEW");
}

MissingInNew MissingOf(const std::vector<PerfCase>& cases,
                       const std::vector<std::string>& only_base) {
  MissingInNew missing{.cases = only_base.size()};
  for (const PerfCase& c : cases) missing.counts += c.MissingCounts();
  return missing;
}

Verdict WithMissing(Verdict verdict, const MissingInNew& missing) {
  const bool good = verdict == Verdict::kSame || verdict == Verdict::kFaster;
  return good && missing.any() ? Verdict::kUnclear : verdict;
}

Verdict VerdictOf(const std::vector<PerfCase>& cases) {
  Verdict worst = Verdict::kSame;
  for (const Verdict verdict :
       {Verdict::kFaster, Verdict::kUnclear, Verdict::kInvalid, Verdict::kSlower}) {
    if (std::any_of(cases.begin(), cases.end(), [&](const PerfCase& c) {
          return c.verdict == verdict || (verdict == Verdict::kSlower && c.LargerCounts() > 0);
        })) {
      worst = verdict;
    }
  }
  return worst;
}

StatusOr<PerfSide> CollectSide(const std::vector<BenchmarkReport>& reports) {
  PerfSide side;
  side.reports = reports.size();
  if (reports.size() == 1) {
    side.assumed = std::any_of(reports[0].cases.begin(), reports[0].cases.end(),
                               [](const BenchmarkCase& c) { return c.seconds.size() > 1; });
  }
  std::map<std::string, std::size_t> index;
  for (const BenchmarkReport& report : reports) {
    DM_RETURN_IF_ERROR(AddReport(report, side.assumed, index, side));
  }
  return side;
}

StatusOr<PerfComparison> ComparePerf(const PerfSide& base, const PerfSide& next,
                                     const JudgeOptions& options,
                                     const std::vector<std::string>& only) {
  const std::map<std::string, std::size_t> base_index = IndexOf(base);
  const std::map<std::string, std::size_t> next_index = IndexOf(next);
  const auto wanted = [&](const std::string& name) {
    return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
  };
  PerfComparison compared;
  for (const PerfCaseRuns& base_case : base.cases) {
    if (!wanted(base_case.name)) continue;
    const PerfCaseRuns* const next_case = Find(next, next_index, base_case.name);
    if (next_case == nullptr) {
      compared.only_base.push_back(base_case.name);
      continue;
    }
    DM_ASSIGN_OR_RETURN(PerfCase judged, JudgeCase(base_case, *next_case, options));
    compared.cases.push_back(std::move(judged));
  }
  for (const PerfCaseRuns& next_case : next.cases) {
    if (wanted(next_case.name) && Find(base, base_index, next_case.name) == nullptr) {
      compared.only_next.push_back(next_case.name);
    }
  }
  compared.verdict = VerdictOf(compared.cases);
  return compared;
}

}  // namespace draftmark
