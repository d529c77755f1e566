#include "tools/commands/bench/roofline_command.h"

#include <memory>
#include <optional>
#include <string>

#include "benchmarks/roofline/baseline.h"
#include "benchmarks/roofline/machine.h"
#include "src/base/file_system.h"
#include "src/base/find_in_checkout.h"
#include "tools/commands/bench/commit.h"
#include "tools/commands/bench/roofline_run.h"
#include "tools/commands/u64_option.h"

namespace draftmark {
namespace {

constexpr const char* kScript = "benchmarks/pytorch_baseline.py";

TimeBaseline BaselineOf(const RooflineOptions& options) {
  const auto never = [](std::string reason) {
    return [reason = std::move(reason)](const std::string&) -> StatusOr<BaselineTimes> {
      return UnavailableError(reason);
    };
  };
  if (options.no_baseline) return never("left out by --no-baseline");
  const std::optional<std::string> script = FindInCheckout(
      kScript, [](const std::string& path) { return RealFileSystem().IsFile(path); });
  if (!script) return never(std::string("no ") + kScript + " found");
  const auto baseline = std::make_shared<PytorchBaseline>(
      BaselineOptions{.python = options.python,
                      .script = *script,
                      .seconds = static_cast<double>(options.baseline_seconds)});
  return [baseline](const std::string& drafter) { return baseline->Time(drafter); };
}

Status Roofline(const RooflineOptions& options, CommandContext& context) {
  DM_RETURN_IF_ERROR(CheckRooflineOptions(options));
  DM_ASSIGN_OR_RETURN(const RooflineSelection selection, SelectRoofline(options.only));
  DM_ASSIGN_OR_RETURN(const std::unique_ptr<RooflineMachine> machine, OpenRooflineMachine());
  return RunRoofline(options, selection, FindCommit(), *machine, BaselineOf(options), context);
}

}  // namespace

void AddRooflineCommand(CLI::App& bench, CommandContext& context) {
  auto options = std::make_shared<RooflineOptions>();
  CLI::App* const command = bench.add_subcommand(
      "roofline",
      "Time drafts and their linear layers against what their bytes take at the copy bandwidth, "
      "and against PyTorch");
  command->footer(
      "PyTorch comes between the drafts, and takes up to --baseline-seconds in all. Where a call "
      "may "
      "last ten\nminutes only: --no-baseline; and with PyTorch, --only draft/, then --only linear/ "
      "--no-baseline. What is\nmeasured so far is printed at once, but --out is written at the "
      "end.\n"
      "Exit codes: 0 all musts are met; 1 a must is missed, or a time is shorter than its bytes "
      "take at the\ntheoretical bandwidth; 2 wrong usage, or no GPU. --out is written with 1, "
      "too.");
  command->add_option("--out", options->out, "Also writes the results to this file, as JSON");
  AddU64Option(*command, "--runs", options->runs, "Timed graph replays of a draft (100)");
  command->add_option("--only", options->only,
                      "Measures only what has this in its id: draft/, qwen3-4b, linear/, n=4096");
  CLI::Option* const none = command->add_flag("--no-baseline", options->no_baseline,
                                              "Leaves out PyTorch, which takes minutes");
  command
      ->add_option("--python", options->python,
                   "Python with PyTorch, for benchmarks/pytorch_baseline.py")
      ->capture_default_str()
      ->excludes(none);
  AddU64Option(*command, "--baseline-seconds", options->baseline_seconds,
               "PyTorch's time for all drafts together (400)")
      ->excludes(none);
  AddFormatOption(*command, options->format);
  command->callback([options, &context] {
    const Status status = Roofline(*options, context);
    if (!status.ok()) context.Fail(status);
  });
}

}  // namespace draftmark
