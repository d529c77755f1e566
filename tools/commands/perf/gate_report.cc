#include "tools/commands/perf/gate_report.h"

#include <fmt/format.h>

#include <vector>

#include "src/perf/history/import_google_benchmark.h"
#include "tools/commands/perf/aa_history.h"
#include "tools/commands/perf/case_report.h"
#include "tools/commands/perf/gate_runner.h"

namespace draftmark {
namespace {

// Judges the kept reports of one case again.
std::string Reproduce(const GateReport& report, const GateCase& c) {
  std::string command = "draftmark perf compare";
  for (const GateSide side : {GateSide::kBase, GateSide::kNew}) {
    command += side == GateSide::kBase ? " --base" : " --new";
    command += " " + ShellWord(GateFolder(report.folder, GateStage::kFirst, side));
    if (c.look == Look::kSecond) {
      command += " " + ShellWord(GateFolder(report.folder, GateStage::kSecond, side));
    }
  }
  if (c.look == Look::kSecond) command += " --look second";
  if (c.floor > kFloor) command += fmt::format(" --floor {}", c.floor);
  return command + " " + ShellWord("--case=" + c.judged.name);
}

// Commands hold paths of this machine, and records are published: BASE and NEW stand for those of
// the two commits, which the record has. Of a case, or of the whole gate.
std::string PublishedCommand(const GateReport& report, const std::string& name = "") {
  std::string command =
      fmt::format("draftmark perf gate --base BASE --new NEW --seed {}", report.seed);
  return name.empty() ? command : command + " " + ShellWord("--case=" + name);
}

// Also of a count that is the same: the newest verdict is what a dashboard shows.
GateVerdict CountVerdict(const GateReport& report, const GateCase& c,
                         const CountComparison& count) {
  return {.case_id = CaseIdOfBenchmark(c.judged.name),
          .metric = count.counter,
          .verdict = std::string(VerdictName(count.Larger()    ? Verdict::kSlower
                                             : count.Smaller() ? Verdict::kFaster
                                                               : Verdict::kSame)),
          .base_runs = static_cast<std::int64_t>(c.judged.base.size()),
          .next_runs = static_cast<std::int64_t>(c.judged.next.size()),
          .old_count = static_cast<std::int64_t>(count.base->most),
          .new_count = static_cast<std::int64_t>(count.next->most),
          .reproduce = PublishedCommand(report, c.judged.name)};
}

}  // namespace

std::vector<PerfCase> CasesOf(const GateResult& result) {
  std::vector<PerfCase> cases;
  for (const GateCase& c : result.cases) cases.push_back(c.judged);
  return cases;
}

int GateExitCode(const GateReport& report) {
  if (LargerCounts(CasesOf(report.result)) > 0) return kPerfSlower;
  if (report.advisory.empty()) return PerfExitCodeOf(report.result.verdict);
  return report.missing.any() ? kPerfUnclear : kPerfGood;
}

std::string GateText(const GateReport& report) {
  std::string text;
  for (const GateCase& c : report.result.cases) {
    text += CaseText(c.judged, /*assumed=*/false);
    if (c.floor > kFloor) {
      text += fmt::format("  floor {:.2f} %, by the spread of its A/A runs\n", c.floor * 100);
    }
    if (c.fresh_runs) {
      text += fmt::format("  {} by {}+{} fresh runs: ratio {:.4f}, p {:.2g}\n",
                          c.confirmed ? "confirmed" : "not confirmed", kConfirmRuns, kConfirmRuns,
                          c.fresh_ratio, c.fresh_p);
    }
    text += fmt::format("  reproduce: {}\n", Reproduce(report, c));
  }
  for (const std::string& name : report.result.only_base) text += "ONLY IN BASE " + name + "\n";
  for (const std::string& name : report.result.only_next) text += "ONLY IN NEW " + name + "\n";
  if (report.result.disturbed > 0) {
    text += fmt::format("{} disturbed runs were measured again\n", report.result.disturbed);
  }
  if (!report.advisory.empty()) text += "advisory: " + report.advisory + "\n";
  if (!report.note.empty()) text += "note: " + report.note + "\n";
  if (report.missing.any()) {
    text += fmt::format("MISSING: {}; --allow-missing takes that for intended\n",
                        report.missing.ToString());
  }
  text += fmt::format("{}: {}, {} processes\n", UpperCase(VerdictName(report.result.verdict)),
                      CountsText(CasesOf(report.result)), report.result.runs);
  return text + fmt::format("reproduce: {}\n", report.command);
}

OrderedJson GateJson(const GateReport& report) {
  OrderedJson json = {{"schema_version", 1},
                      {"verdict", VerdictName(report.result.verdict)},
                      {"exit_code", GateExitCode(report)},
                      {"advisory", report.advisory},
                      {"seed", report.seed},
                      {"processes", report.result.runs},
                      {"disturbed", report.result.disturbed},
                      {"base", report.base},
                      {"new", report.next},
                      {"out", report.folder}};
  json["cases"] = OrderedJson::array();
  for (const GateCase& c : report.result.cases) {
    OrderedJson one = CaseJson(c.judged, Reproduce(report, c));
    one["look"] = LookName(c.look);
    one["floor"] = c.floor;
    if (c.fresh_runs) {
      one["fresh"] = {{"confirmed", c.confirmed}, {"ratio", c.fresh_ratio}, {"p", c.fresh_p}};
    }
    json["cases"].push_back(std::move(one));
  }
  json["only_in_base"] = report.result.only_base;
  json["only_in_new"] = report.result.only_next;
  json["missing"] = {{"cases", report.missing.cases}, {"counts", report.missing.counts}};
  json["reproduce"] = report.command;
  return json;
}

GateRecord GateRecordOf(const GateReport& report, std::int64_t time, const std::string& base_commit,
                        const std::string& next_commit) {
  GateRecord record{.time = time,
                    .mode = "gate",
                    .environment = EnvironmentOf(report.result.context),
                    .base_commit = base_commit,
                    .next_commit = next_commit,
                    .verdict = std::string(VerdictName(report.result.verdict)),
                    .exit_code = GateExitCode(report),
                    .advisory = !report.advisory.empty(),
                    .command = PublishedCommand(report)};
  for (const GateCase& c : report.result.cases) {
    GateVerdict verdict{.case_id = CaseIdOfBenchmark(c.judged.name),
                        .verdict = std::string(VerdictName(c.judged.verdict)),
                        .reason = c.judged.judgement ? c.judged.reason : "a benchmark failed",
                        .floor = c.floor,
                        .base_runs = static_cast<std::int64_t>(c.judged.base.size()),
                        .next_runs = static_cast<std::int64_t>(c.judged.next.size()),
                        .reproduce = PublishedCommand(report, c.judged.name)};
    if (c.judged.judgement) {
      const Judgement& j = *c.judged.judgement;
      verdict.ratio = j.ratio;
      verdict.ci_low = j.shift.low;
      verdict.ci_high = j.shift.high;
      verdict.p = j.p;
      verdict.variation = j.variation;
      if (j.detectable > 0) verdict.detectable = j.detectable;
      verdict.base = j.base;
      verdict.next = j.next;
    }
    if (c.fresh_runs) verdict.confirmed = c.confirmed;
    record.verdicts.push_back(std::move(verdict));
    for (const CountComparison& count : c.judged.counts) {
      if (count.base && count.next) record.verdicts.push_back(CountVerdict(report, c, count));
    }
  }
  return record;
}

}  // namespace draftmark
