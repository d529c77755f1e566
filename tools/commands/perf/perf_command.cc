#include "tools/commands/perf/perf_command.h"

#include "tools/commands/perf/aa_command.h"
#include "tools/commands/perf/compare_command.h"
#include "tools/commands/perf/counts_command.h"
#include "tools/commands/perf/gate_command.h"
#include "tools/commands/perf/nightly_command.h"

namespace draftmark {

void AddPerfCommand(CLI::App& app, CommandContext& context) {
  CLI::App* const perf = app.add_subcommand("perf", "Judge whether benchmarks got slower");
  perf->require_subcommand(1);
  AddCompareCommand(*perf, context);
  AddGateCommand(*perf, context);
  AddNightlyCommand(*perf, context);
  AddAaCommand(*perf, context);
  AddCountsCommand(*perf, context);
  AddAcceptCommand(*perf, context);
}

}  // namespace draftmark
