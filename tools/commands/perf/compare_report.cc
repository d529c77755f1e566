#include "tools/commands/perf/compare_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace draftmark {
namespace {

std::string Reproduce(const CompareReport& report, const PerfCase& judged) {
  return report.command + " " + ShellWord("--case=" + judged.name);
}

// In time; of counts nothing is to be confirmed.
bool AnySlower(const CompareReport& report) {
  return std::any_of(report.compared.cases.begin(), report.compared.cases.end(),
                     [](const PerfCase& c) { return c.verdict == Verdict::kSlower; });
}

const char* RunsWord(bool assumed) { return assumed ? "assumed" : "measured"; }

}  // namespace

std::string CompareText(const CompareReport& report) {
  std::string text;
  for (const PerfCase& judged : report.compared.cases) {
    text += CaseText(judged, report.base_assumed || report.next_assumed);
    text += fmt::format("  reproduce: {}\n", Reproduce(report, judged));
  }
  for (const std::string& name : report.compared.only_base) {
    text += fmt::format("ONLY IN BASE {}\n", name);
  }
  for (const std::string& name : report.compared.only_next) {
    text += fmt::format("ONLY IN NEW {}\n", name);
  }
  text += CountsText(report.compared.cases) + "\n";
  if (report.missing.any()) {
    text += fmt::format("MISSING: {}; --allow-missing takes that for intended\n",
                        report.missing.ToString());
  }
  if (AnySlower(report)) {
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
    json["cases"].push_back(CaseJson(judged, Reproduce(report, judged)));
  }
  json["only_in_base"] = report.compared.only_base;
  json["only_in_new"] = report.compared.only_next;
  json["missing"] = {{"cases", report.missing.cases}, {"counts", report.missing.counts}};
  return json;
}

}  // namespace draftmark
