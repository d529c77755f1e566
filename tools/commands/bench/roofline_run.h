// The run behind `draftmark bench roofline`: what is measured, in which order, and what is printed
// meanwhile.
//
//   DM_ASSIGN_OR_RETURN(const RooflineSelection selection, SelectRoofline(options.only));
//   DM_RETURN_IF_ERROR(RunRoofline(options, selection, *machine, baseline, context));
#ifndef DRAFTMARK_TOOLS_COMMANDS_BENCH_ROOFLINE_RUN_H_
#define DRAFTMARK_TOOLS_COMMANDS_BENCH_ROOFLINE_RUN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "benchmarks/roofline/baseline.h"
#include "benchmarks/roofline/machine.h"
#include "src/base/file_system.h"
#include "src/base/status.h"
#include "tools/commands/bench/roofline_report.h"
#include "tools/commands/command.h"

namespace draftmark {

struct RooflineOptions {
  std::string out;           // a file; empty: none
  std::uint64_t runs = 100;  // timed replays of a draft
  std::string only;          // measures what has this in its id
  bool no_baseline = false;
  std::string python = "python3";
  std::uint64_t baseline_seconds = 400;
  OutputFormat format = OutputFormat::kText;
};

// INVALID_ARGUMENT names the option, what it may be and what it is.
Status CheckRooflineOptions(const RooflineOptions& options);

struct RooflineSelection {
  std::vector<RooflineWork> works;
  std::vector<LinearLine> lines;  // those of a shape behind one another
};

// NOT_FOUND if no id holds `only`; the catalogue's errors.
StatusOr<RooflineSelection> SelectRoofline(const std::string& only);

using TimeBaseline = std::function<StatusOr<BaselineTimes>(const std::string& drafter)>;

// Measures, prints to the context and sets its exit code; `commit` is the code's. What is wrong
// with one case stands in the report. Errors: `out` cannot be written, which is tried before
// anything is measured.
Status RunRoofline(const RooflineOptions& options, const RooflineSelection& selection,
                   const std::string& commit, RooflineMachine& machine,
                   const TimeBaseline& baseline, CommandContext& context,
                   FileSystem& file_system = RealFileSystem());

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_BENCH_ROOFLINE_RUN_H_
