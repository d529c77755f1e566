#include "tools/commands/perf/compare_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "src/base/check.h"
#include "src/perf/google_benchmark.h"
#include "src/perf/run_value.h"

namespace draftmark {
namespace {

std::string Upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper;
}

// Of the medians that each run has beside its value.
double MedianOfMedians(const std::vector<RunValue>& runs) {
  std::vector<double> medians;
  for (const RunValue& run : runs) medians.push_back(run.median);
  return Median(std::move(medians));
}

std::string Reproduce(const CompareReport& report, const PerfCase& judged) {
  return report.command + " " + ShellWord("--case=" + judged.name);
}

std::string NumbersText(const CompareReport& report, const PerfCase& judged) {
  const Judgement& j = *judged.judgement;
  const double units = UnitsPerSecond(judged.unit);
  return fmt::format(
      "ratio {:.4f} (99.8 % CI {:.4f} to {:.4f}), p {:.2g}, runs {}+{}{}, detects {}, "
      "{:.5g} -> {:.5g} {} (medians {:.5g} -> {:.5g})",
      j.ratio, j.shift.low, j.shift.high, j.p, judged.base.size(), judged.next.size(),
      report.base_assumed || report.next_assumed ? " (runs: assumed)" : "",
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

OrderedJson CaseJson(const CompareReport& report, const PerfCase& judged) {
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
    json["add_runs"] = j.add_runs;
  }
  json["reproduce"] = Reproduce(report, judged);
  return json;
}

const char* RunsWord(bool assumed) { return assumed ? "assumed" : "measured"; }

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

std::string CompareText(const CompareReport& report) {
  std::string text;
  for (const PerfCase& judged : report.compared.cases) {
    text += fmt::format("{} {}: ", Upper(VerdictName(judged.verdict)), judged.name);
    text += judged.judgement ? NumbersText(report, judged) : judged.reason;
    text += "\n";
    if (judged.judgement && !judged.reason.empty()) text += fmt::format("  {}\n", judged.reason);
    text += fmt::format("  reproduce: {}\n", Reproduce(report, judged));
  }
  for (const std::string& name : report.compared.only_base) {
    text += fmt::format("ONLY IN BASE {}\n", name);
  }
  for (const std::string& name : report.compared.only_next) {
    text += fmt::format("ONLY IN NEW {}\n", name);
  }
  text += fmt::format("{} cases", report.compared.cases.size());
  for (const Verdict verdict :
       {Verdict::kSlower, Verdict::kInvalid, Verdict::kUnclear, Verdict::kFaster, Verdict::kSame}) {
    const auto count = std::count_if(report.compared.cases.begin(), report.compared.cases.end(),
                                     [&](const PerfCase& c) { return c.verdict == verdict; });
    if (count > 0) text += fmt::format(", {} {}", count, VerdictName(verdict));
  }
  text += "\n";
  if (report.compared.verdict == Verdict::kSlower) {
    text += fmt::format("slower is confirmed once {0}+{0} fresh runs say so too\n", kConfirmRuns);
  }
  return text;
}

OrderedJson CompareJson(const CompareReport& report) {
  OrderedJson json = {{"schema_version", 1}};
  json["verdict"] = VerdictName(report.compared.verdict);
  json["exit_code"] = PerfExitCodeOf(report.compared.verdict);
  json["look"] = LookName(report.options.look);
  json["floor"] = report.options.floor;
  json["runs"] = {{"base", RunsWord(report.base_assumed)},
                  {"new", RunsWord(report.next_assumed)},
                  {"base_files", report.base_files},
                  {"new_files", report.next_files}};
  json["cases"] = OrderedJson::array();
  for (const PerfCase& judged : report.compared.cases) {
    json["cases"].push_back(CaseJson(report, judged));
  }
  json["only_in_base"] = report.compared.only_base;
  json["only_in_new"] = report.compared.only_next;
  return json;
}

std::string ShellWord(const std::string& word) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./:=,+%@").find(c) != std::string_view::npos;
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
