#include "tools/commands/perf/case_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/base/ascii.h"
#include "src/base/check.h"
#include "src/perf/count_comparison.h"
#include "src/perf/google_benchmark.h"
#include "src/perf/run_value.h"

namespace draftmark {
namespace {

// Of the medians that each run has beside its value.
double MedianOfMedians(const std::vector<RunValue>& runs) {
  std::vector<double> medians;
  medians.reserve(runs.size());
  for (const RunValue& run : runs) medians.push_back(run.median);
  return Median(std::move(medians));
}

std::string NumbersText(const PerfCase& judged, bool assumed) {
  const Judgement& j = *judged.judgement;
  const double units = UnitsPerSecond(judged.unit);
  return fmt::format(
      "ratio {:.4f} (99.8 % CI {:.4f} to {:.4f}), p {:.2g}, runs {}+{}{}, detects {}, "
      "{:.5g} -> {:.5g} {} (medians {:.5g} -> {:.5g})",
      j.ratio, j.shift.low, j.shift.high, j.p, judged.base.size(), judged.next.size(),
      assumed ? " (runs: assumed)" : "",
      j.detectable > 0 ? fmt::format("{:.1f} %", j.detectable * 100) : "nothing", j.base * units,
      j.next * units, judged.unit, MedianOfMedians(judged.base) * units,
      MedianOfMedians(judged.next) * units);
}

OrderedJson SideJson(const std::vector<RunValue>& runs, double value) {
  std::size_t samples = 0;
  for (const RunValue& run : runs) samples += run.samples;
  return {{"runs", runs.size()},
          {"samples", samples},
          {"value_s", value},
          {"median_s", MedianOfMedians(runs)}};
}

OrderedJson CountJson(const CountComparison& count) {
  OrderedJson json = {{"counter", count.counter}, {"base", nullptr}, {"new", nullptr}};
  if (count.base) json["base"] = count.base->most;
  if (count.next) json["new"] = count.next->most;
  json["change"] = nullptr;
  if (count.base && count.next) {
    json["change"] = count.Larger() ? "larger" : count.Smaller() ? "smaller" : "same";
  }
  return json;
}

}  // namespace

int PerfExitCodeOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFaster:
    case Verdict::kSame:
      return kPerfGood;
    case Verdict::kSlower:
      return kPerfSlower;
    case Verdict::kUnclear:
      return kPerfUnclear;
    case Verdict::kInvalid:
      return kPerfInvalid;
  }
  DM_CHECK(false);
  return kPerfError;
}

std::string CaseText(const PerfCase& judged, bool assumed) {
  std::string text = fmt::format("{} {}: ", UpperCase(VerdictName(judged.verdict)), judged.name);
  text += (judged.judgement ? NumbersText(judged, assumed) : judged.reason) + "\n";
  if (judged.judgement && !judged.reason.empty()) text += fmt::format("  {}\n", judged.reason);
  return text + CountLines(judged.name, judged.counts);
}

OrderedJson CaseJson(const PerfCase& judged, const std::string& reproduce) {
  OrderedJson json = {
      {"name", judged.name}, {"verdict", VerdictName(judged.verdict)}, {"reason", judged.reason}};
  if (judged.judgement) {
    const Judgement& j = *judged.judgement;
    json["base"] = SideJson(judged.base, j.base);
    json["new"] = SideJson(judged.next, j.next);
    json["ratio"] = j.ratio;
    json["ci_998"] = {j.shift.low, j.shift.high};
    json["ci_95"] = {j.same.low, j.same.high};
    json["p"] = j.p;
    json["variation"] = j.variation;
    if (j.detectable > 0) json["detectable_shift"] = j.detectable;
    json["add_runs"] = judged.add_runs;
  }
  if (judged.in_cycles) {
    const Judgement& c = *judged.in_cycles;
    json["cycles"] = {{"verdict", VerdictName(c.verdict)},
                      {"ratio", c.ratio},
                      {"ci_998", {c.shift.low, c.shift.high}},
                      {"p", c.p}};
  }
  for (const CountComparison& count : judged.counts) json["counts"].push_back(CountJson(count));
  json["reproduce"] = reproduce;
  return json;
}

std::size_t LargerCounts(const std::vector<PerfCase>& cases) {
  std::size_t larger = 0;
  for (const PerfCase& c : cases) larger += c.LargerCounts();
  return larger;
}

std::string CountsText(const std::vector<PerfCase>& cases) {
  std::string text = fmt::format("{} cases", cases.size());
  for (const Verdict verdict :
       {Verdict::kSlower, Verdict::kInvalid, Verdict::kUnclear, Verdict::kFaster, Verdict::kSame}) {
    const auto count = std::count_if(cases.begin(), cases.end(),
                                     [&](const PerfCase& c) { return c.verdict == verdict; });
    if (count > 0) text += fmt::format(", {} {}", count, VerdictName(verdict));
  }
  const std::size_t larger = LargerCounts(cases);
  if (larger > 0) text += fmt::format(", {} counts larger", larger);
  return text;
}

std::string UpperCase(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = AsciiUpper(c);
  return upper;
}

std::string ShellWord(const std::string& word) {
  const auto is_plain = [](char c) {
    return IsAsciiAlnum(c) || std::string_view("_-./:=,+%@").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace draftmark
