#include "tools/commands/bench/bench_command.h"

#include "tools/commands/bench/roofline_command.h"

namespace draftmark {

void AddBenchCommand(CLI::App& app, CommandContext& context) {
  CLI::App* const bench =
      app.add_subcommand("bench", "Measure how fast the GPU drafts, and judge it");
  bench->require_subcommand(1);
  AddRooflineCommand(*bench, context);
}

}  // namespace draftmark
