// The processes of `draftmark perf gate` and the like: a command line of the user's, run afresh for
// each run, whose report of Google Benchmark lands in a folder.
//
//   CommandRunner runner({.base = "old/bench", .next = "new/bench", .folder = "runs"}, std::cerr);
//   DM_ASSIGN_OR_RETURN(const GateResult result, RunGate(options, runner));
//
// A command is a line for sh. Where {out} is in it, it stands for the path of the report, and
// {flags} for the flags of Google Benchmark that select and shuffle; without {out} these flags and
// --benchmark_out are put behind it, which every program of Google Benchmark understands. A command
// that prints its report: "bench --benchmark_format=json {flags} > {out}". Each process is told the
// seed of its order (benchmark_counters.h).
//
// Report N of a stage and side: FOLDER/STAGE/SIDE/NN.json. One thread.
#ifndef DRAFTMARK_TOOLS_COMMANDS_PERF_GATE_RUNNER_H_
#define DRAFTMARK_TOOLS_COMMANDS_PERF_GATE_RUNNER_H_

#include <ostream>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/perf/gate.h"
#include "tools/commands/perf/aa_history.h"

namespace draftmark {

inline constexpr double kGateSeconds = 1800;

struct GateCommands {
  std::string base;
  std::string next;
  std::string folder;             // without the reports of earlier gates
  double seconds = kGateSeconds;  // after which a process is killed
  GateNames names = {};
  std::string missing = "baseline";  // what is not there without base's program
};

class CommandRunner final : public GateRunner {
 public:
  // Progress, a line for each run, goes to `progress`.
  CommandRunner(GateCommands commands, std::ostream& progress)
      : commands_(std::move(commands)), progress_(progress) {}

  // INVALID_ARGUMENT if the folder has reports already.
  Status Prepare();

  // NOT_FOUND: base's program is not there. DATA_LOSS: the process crashed, took too long, or wrote
  // no report that can be used; names the run, the exit code and its last words.
  StatusOr<BenchmarkReport> Run(const GateRun& run) override;

  // Floors of cases come from here; `book` must outlive the runner.
  void UseAa(const AaBook& book) { book_ = &book; }
  double AaSpread(const std::string& name) override;

 private:
  const std::string& NameOf(GateSide side) const {
    return side == GateSide::kBase ? commands_.names.base : commands_.names.next;
  }

  GateCommands commands_;
  std::ostream& progress_;
  const AaBook* book_ = nullptr;
  std::string architecture_;  // by the last report
};

// `folder`, or FOLDER.2, FOLDER.3 ... where that is there: so that a line that reproduces a verdict
// can be run where the verdict came from.
std::string FreeFolder(const std::string& folder);

// FOLDER/STAGE/SIDE.
std::string GateFolder(const std::string& folder, GateStage stage, GateSide side);

// The line for sh.
std::string GateCommandLine(const std::string& command, const GateRun& run, const std::string& out);

// A --benchmark_filter that takes these names and no others.
std::string BenchmarkFilter(const std::vector<std::string>& names);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_PERF_GATE_RUNNER_H_
