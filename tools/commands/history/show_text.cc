#include "tools/commands/history/show_text.h"

#include <fmt/format.h>

#include "src/perf/google_benchmark.h"
#include "src/perf/history/utc_time.h"

namespace draftmark {
namespace {

std::string TimeText(double seconds, const std::string& unit) {
  return fmt::format("{:.5g} {}", seconds * UnitsPerSecond(unit), unit);
}

std::string PointText(const Point& p) {
  std::string line = "  " + p.case_id;
  if (p.schema != kFirstCaseSchema) line += fmt::format(" schema {}", p.schema);
  line += ":";
  if (p.seconds) {
    line += fmt::format(" {} (median {}, {} samples)", TimeText(*p.seconds, p.unit),
                        TimeText(p.median.value_or(0), p.unit), p.samples);
  }
  if (!p.failure.empty()) line += " " + p.failure;
  if (p.voided > 0) line += fmt::format(", {} void: {}", p.voided, p.marks);
  if (p.floor_share) line += fmt::format(", {:.1f} % of the floor", *p.floor_share * 100);
  if (p.copy_share) line += fmt::format(", {:.1f} % of the copy bandwidth", *p.copy_share * 100);
  for (const auto& [name, value] : p.counts) line += fmt::format(", {} {}", name, value);
  line += "\n";
  if (!p.reproduce.empty()) line += fmt::format("    reproduce: {}\n", p.reproduce);
  return line;
}

std::string ConformanceText(const ConformanceResult& c) {
  std::string line = fmt::format("  {} {} {} {}", c.status, c.case_id, c.backend, c.precision);
  if (!c.variant.empty()) line += " " + c.variant;
  if (c.used_share) line += fmt::format(": used {:.3g} of the tolerance", *c.used_share);
  if (!c.signature.empty()) line += fmt::format(", {}", c.signature);
  if (!c.waiver.empty()) line += fmt::format(" ({}, until {})", c.waiver, c.expires);
  return line + "\n";
}

std::string Body(const RunRecord& run) {
  std::string text = fmt::format("program {}{}\ncommit {}\nenvironment {}\n", run.program,
                                 run.source.empty() ? "" : ", from " + run.source, run.commit,
                                 EnvironmentText(run.environment));
  if (!run.session.empty()) text += fmt::format("session {}, number {}\n", run.session, run.number);
  if (!run.command.empty()) text += fmt::format("command {}\n", run.command);
  if (!run.valid) text += fmt::format("INVALID: {}\n", run.reason);
  for (const auto& [name, value] : run.context) text += fmt::format("{} {}\n", name, value);
  for (const Point& point : run.points) text += PointText(point);
  for (const ConformanceResult& result : run.conformance) text += ConformanceText(result);
  for (const SuiteResult& suite : run.suites) {
    text +=
        fmt::format("  suite {}: {} passed, {} failed, {} skipped{}\n", suite.name, suite.passed,
                    suite.failed, suite.skipped, suite.problem.empty() ? "" : ": " + suite.problem);
  }
  for (const TestResult& test : run.tests) {
    text += fmt::format("  {} {}.{}: {}\n", test.status, test.suite, test.test, test.message);
  }
  return text;
}

std::string Body(const GateRecord& gate) {
  std::string text =
      fmt::format("{} {}: exit code {}{}\nbase {}, new {}\nenvironment {}\n", gate.mode,
                  gate.verdict, gate.exit_code, gate.advisory ? ", advisory" : "", gate.base_commit,
                  gate.next_commit, EnvironmentText(gate.environment));
  for (const GateVerdict& v : gate.verdicts) {
    text += fmt::format("  {} {} {}", v.verdict, v.case_id, v.metric);
    if (v.ratio) text += fmt::format(": ratio {:.4f}", *v.ratio);
    if (v.new_count) text += fmt::format(": {} -> {}", v.old_count.value_or(0), *v.new_count);
    if (!v.reason.empty()) text += fmt::format(" ({})", v.reason);
    text += "\n";
    if (!v.reproduce.empty()) text += fmt::format("    reproduce: {}\n", v.reproduce);
  }
  for (const ChangePoint& c : gate.change_points) {
    text += fmt::format("  step {} in the night of {}, commit {}: {:.5g} s -> {:.5g} s\n",
                        c.case_id, c.night, c.commit, c.before, c.after);
  }
  return text;
}

std::string Body(const AaRecord& aa) {
  std::string text =
      fmt::format("commit {}{}\nenvironment {}\n", aa.commit,
                  aa.advisory ? ", the gate is advisory" : "", EnvironmentText(aa.environment));
  for (const AaResult& r : aa.results) {
    text +=
        fmt::format("  {}: {} comparisons, {} false alarms, spread {:.2f} %, detects {:.1f} %\n",
                    r.case_id, r.comparisons, r.false_alarms, r.spread * 100, r.detectable * 100);
  }
  return text;
}

std::string Body(const AcceptRecord& accept) {
  return fmt::format("{} {}{}: {} -> {}\ncommit {}\nreason {}\n", accept.case_id, accept.field,
                     accept.architecture.empty() ? "" : " on " + accept.architecture,
                     accept.old_value ? fmt::format("{}", *accept.old_value) : "none",
                     accept.new_value, accept.commit, accept.reason);
}

std::string Body(const ReleaseRecord& release) {
  return fmt::format("{}\ncommit {}\n{}{}", release.name, release.commit, release.note,
                     release.note.empty() ? "" : "\n");
}

std::string Body(const NightRecord& night) {
  std::string text =
      fmt::format("night {} of {} runs\ncommit {}\nenvironment {}\n", night.night,
                  night.replaces.size(), night.commit, EnvironmentText(night.environment));
  for (const NightPoint& p : night.points) {
    text += fmt::format("  {}: ", p.case_id);
    text += p.seconds ? fmt::format("{} ({} to {}, {} runs)", TimeText(*p.seconds, p.unit),
                                    TimeText(p.low.value_or(0), p.unit),
                                    TimeText(p.high.value_or(0), p.unit), p.runs)
                      : std::string("no time");
    for (const auto& [name, value] : p.counts) text += fmt::format(", {} {}", name, value);
    text += "\n";
  }
  return text;
}

}  // namespace

std::string EnvironmentText(const Environment& e) {
  std::string text = e.architecture;
  if (!e.gpu.empty()) text += " " + e.gpu;
  if (!e.driver.empty()) text += " driver " + e.driver;
  if (!e.cuda.empty()) text += " CUDA " + e.cuda;
  if (!e.clocks.empty()) text += " clocks " + e.clocks;
  return text;
}

std::string ShowText(const std::string& uid, const HistoryRecord& record) {
  const std::int64_t time = std::visit([](const auto& any) { return any.time; }, record);
  return fmt::format("{} {} {}\n", KindOf(record), uid, FormatUtc(time)) +
         std::visit([](const auto& any) { return Body(any); }, record);
}

OrderedJson JsonOfLines(std::string_view text) {
  OrderedJson lines = OrderedJson::array();
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(OrderedJson::parse(text.substr(0, end)));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

}  // namespace draftmark
