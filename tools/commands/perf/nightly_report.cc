#include "tools/commands/perf/nightly_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "src/perf/google_benchmark.h"
#include "src/perf/history/utc_time.h"
#include "tools/commands/perf/case_report.h"

namespace draftmark {
namespace {

// Of a case, or of the whole night.
std::string Reproduce(const NightlyReport& report, const EnvironmentReport& environment,
                      const NightlyCase* c) {
  std::string command = fmt::format("draftmark perf nightly --db {} --night {}",
                                    ShellWord(report.database), report.night);
  const std::string& architecture = environment.nights.environment.architecture;
  if (!architecture.empty()) command += " --arch " + ShellWord(architecture);
  if (!report.with_sentinel) command += " --no-sentinel";
  command += report.flags;
  if (c != nullptr) command += " " + ShellWord("--case=" + c->case_id);
  if (c != nullptr && c->again && !report.fresh.empty()) {
    command += " --again-reports";
    for (const std::string& path : report.fresh) command += " " + ShellWord(path);
  }
  return command;
}

// "sm_90, NVIDIA H200, driver 580.159.04".
std::string NameOf(const Environment& environment) {
  std::string name = environment.architecture.empty() ? "unknown" : environment.architecture;
  if (!environment.gpu.empty()) name += ", " + environment.gpu;
  if (!environment.driver.empty()) name += ", driver " + environment.driver;
  return name;
}

std::string UnitOf(const EnvironmentReport& environment, const NightlyCase& c) {
  const auto at = environment.nights.units.find({c.case_id, c.schema});
  return at == environment.nights.units.end() || UnitsPerSecond(at->second) == 0 ? "s" : at->second;
}

std::string CaseLines(const NightlyReport& report, const EnvironmentReport& environment,
                      const NightlyCase& c) {
  const std::string unit = UnitOf(environment, c);
  const double units = UnitsPerSecond(unit);
  std::string text = fmt::format(
      "{} {}: ", c.no_baseline ? "NO BASELINE" : UpperCase(VerdictName(c.verdict)), c.case_id);
  if (c.judged.baseline > 0) {
    text += fmt::format(
        "ratio {:.4f} to the median of {} nights, threshold {:.2f} %, {:.5g} -> "
        "{:.5g} {}\n",
        c.judged.ratio, c.judged.nights, c.judged.threshold * 100, c.judged.baseline * units,
        c.seconds * units, unit);
    if (!c.reason.empty()) text += fmt::format("  {}\n", c.reason);
  } else {
    text += c.reason + "\n";
  }
  if (c.again) text += fmt::format("  fresh runs of the same night: ratio {:.4f}\n", *c.again);
  for (const LevelChangeAt& change : c.changes) {
    text += fmt::format("  level changed by {:+.2f} % in night {}: {:.5g} -> {:.5g} {}\n",
                        change.step * 100, NightOfDay(change.day), change.before * units,
                        change.after * units, unit);
  }
  return text + fmt::format("  reproduce: {}\n", Reproduce(report, environment, &c));
}

OrderedJson CaseJson(const NightlyCase& c) {
  OrderedJson json = {{"name", c.case_id},
                      {"schema", c.schema},
                      {"verdict", VerdictName(c.verdict)},
                      {"reason", c.reason},
                      {"baseline", !c.no_baseline},
                      {"seconds", c.seconds},
                      {"nights", c.judged.nights},
                      {"sentinel", c.sentinel}};
  if (c.judged.baseline > 0) {
    json["baseline_s"] = c.judged.baseline;
    json["ratio"] = c.judged.ratio;
    json["threshold"] = c.judged.threshold;
  }
  if (c.again) json["again_ratio"] = *c.again;
  json["changes"] = OrderedJson::array();
  for (const LevelChangeAt& change : c.changes) {
    json["changes"].push_back({{"night", NightOfDay(change.day)},
                               {"before_s", change.before},
                               {"after_s", change.after},
                               {"step", change.step}});
  }
  return json;
}

OrderedJson CountJson(const NightCount& count) {
  OrderedJson json = {{"name", count.key.first},
                      {"counter", count.counter},
                      {"night", count.night},
                      {"expected", count.before}};
  if (count.change != CountChangeKind::kMissing) json["found"] = count.found;
  static constexpr const char* kChanges[] = {"same", "larger", "smaller", "missing"};
  json["change"] = kChanges[static_cast<int>(count.change)];
  return json;
}

// Also of a count that is the same: the newest verdict is what a dashboard shows.
GateVerdict CountRecord(const NightlyReport& report, const EnvironmentReport& environment,
                        const NightCount& count) {
  GateVerdict verdict{.case_id = count.key.first,
                      .schema = count.key.second,
                      .metric = count.counter,
                      .old_count = count.before,
                      .reproduce = Reproduce(report, environment, nullptr)};
  if (count.change != CountChangeKind::kMissing) verdict.new_count = count.found;
  switch (count.change) {
    case CountChangeKind::kLarger:
      verdict.verdict = VerdictName(Verdict::kSlower);
      break;
    case CountChangeKind::kSmaller:
      verdict.verdict = VerdictName(Verdict::kFaster);
      break;
    case CountChangeKind::kSame:
      verdict.verdict = VerdictName(Verdict::kSame);
      break;
    case CountChangeKind::kMissing:
      verdict.verdict = VerdictName(Verdict::kUnclear);
      verdict.reason = "it is not counted any more";
      break;
  }
  return verdict;
}

std::string SentinelText(const EnvironmentReport& environment) {
  const auto over = [&](const char* sentinel) {
    return std::count_if(environment.cases.begin(), environment.cases.end(),
                         [&](const NightlyCase& c) { return c.sentinel == sentinel; });
  };
  const auto gemm = over("gemm");
  if (gemm == 0) return over("copy") > 0 ? "over the copy time of each night" : "no sentinel";
  return fmt::format("over the copy time of each night, {} cases over the time of its GEMM", gemm);
}

// How a slower case that nobody measured again is looked at a second time.
std::string SecondLook(const NightlyReport& report, const EnvironmentReport& environment) {
  return fmt::format(
      "second look: run the benchmarks again there, {} processes or more, as `draftmark-gpu/run "
      "bench --only _benchmark --out again1` to again{}, then\n  {} --again-reports again1 ... "
      "again{}\n",
      kFewestNightRuns, kNightRuns, Reproduce(report, environment, nullptr), kNightRuns);
}

GateVerdict VerdictRecord(const NightlyReport& report, const EnvironmentReport& environment,
                          const NightlyCase& c) {
  GateVerdict verdict{.case_id = c.case_id,
                      .schema = c.schema,
                      .verdict = std::string(VerdictName(c.verdict)),
                      .reason = c.reason,
                      .base_runs = static_cast<std::int64_t>(c.judged.nights),
                      .reproduce = Reproduce(report, environment, &c)};
  const auto tonight = environment.nights.tonight.cases().find({c.case_id, c.schema});
  if (tonight != environment.nights.tonight.cases().end()) {
    verdict.next_runs = static_cast<std::int64_t>(tonight->second.runs.size());
  }
  if (c.judged.baseline > 0) {
    verdict.ratio = c.judged.ratio;
    verdict.floor = c.judged.threshold;
    verdict.base = c.judged.baseline;
    verdict.next = c.seconds;
  }
  if (c.again) verdict.confirmed = c.verdict == Verdict::kSlower;
  return verdict;
}

// Whether any case or count has something to be compared with.
bool AnyJudged(const NightlyReport& report) {
  return std::any_of(report.environments.begin(), report.environments.end(), [](const auto& e) {
    return e.AnyLarger() || e.AnyMissing() ||
           std::any_of(e.cases.begin(), e.cases.end(),
                       [](const NightlyCase& c) { return !c.no_baseline; });
  });
}

}  // namespace

Verdict NightlyVerdict(const std::vector<NightlyCase>& cases) {
  std::vector<PerfCase> judged;
  for (const NightlyCase& c : cases) {
    if (!c.no_baseline) judged.push_back({.name = c.case_id, .verdict = c.verdict});
  }
  return VerdictOf(judged);
}

bool EnvironmentReport::AnyLarger() const {
  return std::any_of(counts.begin(), counts.end(), [](const NightCount& count) {
    return count.change == CountChangeKind::kLarger;
  });
}
bool EnvironmentReport::AnyMissing() const {
  return std::any_of(counts.begin(), counts.end(), [](const NightCount& count) {
    return count.change == CountChangeKind::kMissing;
  });
}

Verdict NightlyVerdict(const NightlyReport& report) {
  // Nothing to compare with is not "same": the history keeps this word.
  if (!AnyJudged(report)) return Verdict::kUnclear;
  std::vector<NightlyCase> all;
  MissingInNew missing;
  for (const EnvironmentReport& environment : report.environments) {
    all.insert(all.end(), environment.cases.begin(), environment.cases.end());
    if (environment.AnyLarger()) return Verdict::kSlower;
    if (environment.AnyMissing()) ++missing.counts;
  }
  return WithMissing(NightlyVerdict(all), missing);
}

int NightlyExitCode(const NightlyReport& report) {
  return AnyJudged(report) ? PerfExitCodeOf(NightlyVerdict(report)) : kPerfNoBaseline;
}

std::string NightlyText(const NightlyReport& report) {
  std::string text;
  std::map<std::string, std::size_t> counts;
  for (const EnvironmentReport& environment : report.environments) {
    text += fmt::format("{}, night {}, commit {}: {}\n", NameOf(environment.nights.environment),
                        report.night, environment.nights.tonight.commit().substr(0, 10),
                        SentinelText(environment));
    for (const NightlyCase& c : environment.cases) {
      text += CaseLines(report, environment, c);
      ++counts[c.no_baseline ? "without a baseline" : std::string(VerdictName(c.verdict))];
    }
    for (const NightCount& count : environment.counts) {
      if (count.change == CountChangeKind::kSame) continue;
      text += count.ToString() + "\n";
      if (count.change == CountChangeKind::kSmaller) continue;
      text += fmt::format("  reproduce: {}\n", Reproduce(report, environment, nullptr));
      ++counts[count.change == CountChangeKind::kLarger ? "counts larger" : "counts missing"];
    }
    const bool open =
        report.unconfirmed &&
        std::any_of(environment.cases.begin(), environment.cases.end(), [](const NightlyCase& c) {
          return c.verdict == Verdict::kUnclear && c.reason.starts_with(kUnconfirmed);
        });
    if (open) text += SecondLook(report, environment);
  }
  std::string summary;
  for (const char* const word : {"slower", "invalid", "unclear", "faster", "same",
                                 "without a baseline", "counts larger", "counts missing"}) {
    if (counts[word] > 0) summary += fmt::format(", {} {}", counts[word], word);
  }
  return text + fmt::format("{}{}\n",
                            NightlyExitCode(report) == kPerfNoBaseline
                                ? "NO BASELINE"
                                : UpperCase(VerdictName(NightlyVerdict(report))),
                            summary);
}

OrderedJson NightlyJson(const NightlyReport& report) {
  OrderedJson json = {{"schema_version", 1},
                      {"night", report.night},
                      {"verdict", VerdictName(NightlyVerdict(report))},
                      {"exit_code", NightlyExitCode(report)},
                      {"environments", OrderedJson::array()}};
  for (const EnvironmentReport& environment : report.environments) {
    OrderedJson one = {{"architecture", environment.nights.environment.architecture},
                       {"gpu", environment.nights.environment.gpu},
                       {"driver", environment.nights.environment.driver},
                       {"sentinel", environment.nights.copy.empty() ? "none" : "copy"},
                       {"commit", environment.nights.tonight.commit()},
                       {"cases", OrderedJson::array()}};
    for (const NightlyCase& c : environment.cases) {
      OrderedJson judged = CaseJson(c);
      judged["reproduce"] = Reproduce(report, environment, &c);
      one["cases"].push_back(std::move(judged));
    }
    one["counts"] = OrderedJson::array();
    for (const NightCount& count : environment.counts) {
      if (count.change != CountChangeKind::kSame) one["counts"].push_back(CountJson(count));
    }
    json["environments"].push_back(std::move(one));
  }
  return json;
}

GateRecord NightlyRecord(const NightlyReport& report, const EnvironmentReport& environment) {
  const NightlyReport alone{
      .night = report.night, .database = report.database, .environments = {environment}};
  // Paths are of this machine, and records are published.
  const NightlyReport published{
      .night = report.night,
      .database = std::filesystem::path(report.database).filename().string(),
      .environments = {},
      .with_sentinel = report.with_sentinel};
  GateRecord record{.time = environment.time,
                    .night = report.night,
                    .mode = "nightly",
                    .environment = environment.nights.environment,
                    .next_commit = environment.nights.tonight.commit(),
                    .verdict = std::string(VerdictName(NightlyVerdict(alone))),
                    .exit_code = NightlyExitCode(alone),
                    .command = Reproduce(published, environment, nullptr),
                    .context = {{"sentinel", environment.nights.copy.empty() ? "none" : "copy"}},
                    .next_runs = environment.nights.run_ids};
  for (const NightlyCase& c : environment.cases) {
    record.verdicts.push_back(VerdictRecord(published, environment, c));
    for (const LevelChangeAt& change : c.changes) {
      record.change_points.push_back({.case_id = c.case_id,
                                      .schema = c.schema,
                                      .night = NightOfDay(change.day),
                                      .before = change.before,
                                      .after = change.after});
    }
  }
  for (const NightCount& count : environment.counts) {
    record.verdicts.push_back(CountRecord(published, environment, count));
  }
  return record;
}

}  // namespace draftmark
