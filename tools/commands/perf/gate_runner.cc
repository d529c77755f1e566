#include "tools/commands/perf/gate_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "src/base/child_process.h"
#include "src/base/file_system.h"
#include "src/perf/benchmark_counters.h"
#include "tools/commands/perf/case_report.h"

namespace draftmark {
namespace {

// The system takes no longer argument than 128 KiB; then the process runs every case.
constexpr std::size_t kLongestFilter = 100000;
constexpr int kCannotExecute = 126;  // exit codes of sh
constexpr int kNoProgram = 127;

void ReplaceAll(std::string_view from, const std::string& to, std::string& text) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::string Words(const std::string& output) {
  const std::string last = LastLine(output);
  return last.empty() ? "" : "; its last line: " + last;
}

bool AnyFailure(const BenchmarkReport& report) {
  return std::any_of(report.cases.begin(), report.cases.end(),
                     [](const BenchmarkCase& c) { return !c.failure.empty(); });
}

}  // namespace

std::string FreeFolder(const std::string& folder) {
  std::string free = folder;
  for (int i = 2; RealFileSystem().IsDirectory(free); ++i) free = fmt::format("{}.{}", folder, i);
  return free;
}

std::string GateFolder(const std::string& folder, GateStage stage, GateSide side) {
  return JoinPath(JoinPath(folder, GateStageName(stage)), GateSideName(side));
}

std::string BenchmarkFilter(const std::vector<std::string>& names) {
  std::string filter = "^(";
  for (const std::string& name : names) {
    if (filter.size() > 2) filter += '|';
    for (const char c : name) {
      if (std::string_view(".[]{}()*+?^$|\\").find(c) != std::string_view::npos) filter += '\\';
      filter += c;
    }
  }
  return filter + ")$";
}

std::string GateCommandLine(const std::string& command, const GateRun& run,
                            const std::string& out) {
  std::string flags = "--benchmark_enable_random_interleaving=true";
  const std::string filter = BenchmarkFilter(run.cases);
  if (!run.cases.empty() && filter.size() <= kLongestFilter) {
    flags += " " + ShellWord("--benchmark_filter=" + filter);
  }
  std::string line = command;
  if (line.find("{out}") == std::string::npos) {
    line += fmt::format(" {} --benchmark_out_format=json {}", ShellWord("--benchmark_out=" + out),
                        flags);
  }
  ReplaceAll("{flags}", flags, line);
  ReplaceAll("{out}", ShellWord(out), line);
  const std::string seed = fmt::format("{}={}", kOrderSeedVariable, run.seed);
  // A simple command takes the place of its shell, so that the end of the gate is its end.
  const bool simple = command.find_first_of(";&|()`\n") == std::string::npos;
  return simple ? fmt::format("exec env {} {}", seed, line)
                : fmt::format("export {}; {}", seed, line);
}

Status CommandRunner::Prepare() {
  for (const GateStage stage : {GateStage::kFirst, GateStage::kSecond, GateStage::kConfirm}) {
    for (const GateSide side : {GateSide::kBase, GateSide::kNew}) {
      const std::string folder = GateFolder(commands_.folder, stage, side);
      if (!RealFileSystem().IsDirectory(folder)) continue;
      DM_ASSIGN_OR_RETURN(const std::vector<std::string> names, RealFileSystem().List(folder));
      if (!names.empty()) {
        return InvalidArgumentError(fmt::format(
            "--out: {} has the runs of an earlier gate; name another folder", commands_.folder));
      }
    }
  }
  return OkStatus();
}

StatusOr<BenchmarkReport> CommandRunner::Run(const GateRun& run) {
  const std::string folder = GateFolder(commands_.folder, run.stage, run.side);
  DM_RETURN_IF_ERROR(RealFileSystem().CreateDirectories(folder));
  const std::string out = JoinPath(folder, fmt::format("{:02}.json", run.number));
  std::error_code ignored;
  std::filesystem::remove(out, ignored);  // of an attempt before
  const std::string& command = run.side == GateSide::kBase ? commands_.base : commands_.next;
  const std::string name = fmt::format("{} run {} of {}{}", GateStageName(run.stage), run.number,
                                       NameOf(run.side), run.attempt > 0 ? ", again" : "");
  progress_ << fmt::format("{}: order seed {}", name, run.seed)
            << (run.cases.empty() ? "" : fmt::format(", {} cases", run.cases.size())) << std::endl;
  DM_ASSIGN_OR_RETURN(
      const ChildResult child,
      RunChild({"sh", "-c", GateCommandLine(command, run, out)}, {.seconds = commands_.seconds}));
  if (child.timed_out) {
    return DataLossError(
        fmt::format("{}: killed after {} s{}", name, commands_.seconds, Words(child.output)));
  }
  const std::string end = fmt::format("exit code {}{}", child.exit_code, Words(child.output));
  if (run.side == GateSide::kBase &&
      (child.exit_code == kNoProgram || child.exit_code == kCannotExecute)) {
    return NotFoundError(fmt::format("no {}: {}: {}", commands_.missing, name, end));
  }
  const StatusOr<std::string> text = ReadTextFile(out);
  if (!text.ok() || text->empty()) {
    return DataLossError(fmt::format("{}: no report in {}: {}", name, out, end));
  }
  StatusOr<BenchmarkReport> report = ParseGoogleBenchmark(*text, out);
  if (!report.ok()) {
    return DataLossError(fmt::format("{}: {} ({})", name, report.status().message(), end));
  }
  architecture_ = EnvironmentOf(report->context).architecture;
  // A benchmark that failed says so in its report; any other end than success is a crash.
  if (child.exit_code != 0 && !AnyFailure(*report)) {
    return DataLossError(fmt::format("{}: {}", name, end));
  }
  return report;
}

double CommandRunner::AaSpread(const std::string& name) {
  return book_ == nullptr ? 0 : book_->Spread(architecture_, name);
}

}  // namespace draftmark
