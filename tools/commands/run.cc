#include "tools/commands/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string>

#include "src/cases/generated_data.h"
#include "tools/commands/architectures/architectures_command.h"
#include "tools/commands/bench/bench_command.h"
#include "tools/commands/command.h"
#include "tools/commands/config/config_command.h"
#include "tools/commands/dashboard/dashboard_command.h"
#include "tools/commands/diff/diff_command.h"
#include "tools/commands/doctor/doctor_command.h"
#include "tools/commands/draft/draft_command.h"
#include "tools/commands/dump_template/dump_template_command.h"
#include "tools/commands/fuzz/fuzz_command.h"
#include "tools/commands/golden/golden_command.h"
#include "tools/commands/history/history_command.h"
#include "tools/commands/mutants/mutants_command.h"
#include "tools/commands/perf/perf_command.h"
#include "tools/commands/plugin_host/plugin_host_command.h"
#include "tools/commands/scratch/scratch_command.h"
#include "tools/commands/sizes/sizes_command.h"
#include "tools/commands/verify/verify_command.h"

namespace draftmark {
namespace {

#ifdef __clang__
constexpr char kCompiler[] = "clang";
#else
constexpr char kCompiler[] = "gcc";
#endif

// The word where a subcommand should be, for which CLI11 only says that one is missing; else empty.
std::string MisspeltSubcommand(const CLI::App& app) {
  const CLI::App* last = &app;
  while (!last->get_subcommands().empty()) last = last->get_subcommands().front();
  if (last->get_require_subcommand_min() == 0) return "";
  for (const std::string& word : app.remaining(/*recurse=*/true)) {
    if (!word.starts_with('-')) return word;
  }
  return "";
}

}  // namespace

int RunDraftmark(std::vector<std::string> arguments, std::ostream& out, std::ostream& err,
                 bool out_is_terminal, const Clock& clock) {
  CommandContext context{out, err, out_is_terminal, clock};
  CLI::App app(
      "Conformance and benchmark harness for block-diffusion speculative-decoding drafters.",
      "draftmark");
  app.set_version_flag("--version", fmt::format("draftmark, golden data version {}, built by {} {}",
                                                kGeneratorVersion, kCompiler, __VERSION__));
  app.require_subcommand(1);
  // The list of subcommands: each lives in its own folder.
  AddArchitecturesCommand(app, context);
  AddBenchCommand(app, context);
  AddConfigCommand(app, context);
  AddDashboardCommand(app, context);
  AddDiffCommand(app, context);
  AddDoctorCommand(app, context);
  AddDraftCommand(app, context);
  AddDumpTemplateCommand(app, context);
  AddFuzzCommand(app, context);
  AddGoldenCommand(app, context);
  AddHistoryCommand(app, context);
  AddMutantsCommand(app, context);
  AddPerfCommand(app, context);
  AddPluginHostCommand(app, context);
  AddScratchCommand(app, context);
  AddSizesCommand(app, context);
  AddVerifyCommand(app, context);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    if (const std::string word = MisspeltSubcommand(app);
        error.get_exit_code() != 0 && !word.empty()) {
      err << fmt::format(
          "draftmark: {}: no such subcommand\nRun with --help for more information.\n", word);
      return kExitError;
    }
    // --help arrives as an "error" with code 0; everything else is wrong usage.
    const int code = app.exit(error, out, err);
    return code == 0 ? kExitGood : kExitError;
  } catch (const std::exception& error) {
    // Out of memory and the like: one line instead of a crash.
    err << "draftmark: " << error.what() << "\n";
    return kExitError;
  }
  return context.exit_code;
}

}  // namespace draftmark
