#include "tools/commands/diff/diff_command.h"

#include <memory>
#include <string>

#include "conformance/diagnosis/diagnose.h"
#include "conformance/diagnosis/dump.h"
#include "conformance/diagnosis/source.h"
#include "tools/commands/diff/diff_report.h"
#include "tools/commands/diff/source_options.h"

namespace draftmark {
namespace {

struct DiffOptions {
  std::string dump;
  DiagnosisPaths paths;
  bool list_mistakes = false;
  OutputFormat format = OutputFormat::kText;
};

StatusOr<Diagnosis> Diff(const DiffOptions& options) {
  if (options.dump.empty())
    return InvalidArgumentError("expected DUMP.safetensors, or --list-mistakes");
  DM_ASSIGN_OR_RETURN(const DiagnosisSource source, LoadDiagnosisSource(options.paths));
  DM_ASSIGN_OR_RETURN(const Dump dump, LoadDump(options.dump, source.config, source.bands));
  StatusOr<Diagnosis> diagnosis = Diagnose(source.config, source.weights, source.bands, dump);
  if (!diagnosis.ok()) return diagnosis.status().Annotated(options.dump);
  return diagnosis;
}

void Run(const DiffOptions& options, CommandContext& context) {
  const bool json = options.format == OutputFormat::kJson;
  if (options.list_mistakes) {
    if (json) {
      PrintJson(context.out, MistakesJson());
    } else {
      context.out << MistakesText();
    }
    return;
  }
  const StatusOr<Diagnosis> diagnosis = Diff(options);
  if (!diagnosis.ok()) return context.Fail(diagnosis.status());
  if (json) {
    PrintJson(context.out, DiagnosisJson(*diagnosis, options.dump));
  } else {
    context.out << DiagnosisText(*diagnosis, options.dump);
  }
  if (diagnosis->FirstOff() != nullptr) context.exit_code = kExitMismatch;
}

}  // namespace

void AddDiffCommand(CLI::App& app, CommandContext& context) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* const command = app.add_subcommand(
      "diff",
      "Find the first stage of another engine's dump that is off, and what the mistake looks like");
  command->add_option(
      "DUMP", options->dump,
      "Stages of another engine as safetensors; `draftmark dump-template` says which");
  command->add_option("--case", options->paths.case_directory,
                      "Case folder with config, weights and inputs");
  AddSourceOptions(*command, options->paths);
  command->add_flag("--list-mistakes", options->list_mistakes,
                    "Print the known mistakes and what a dump shows of them");
  AddFormatOption(*command, options->format);
  command->callback([options, &context] { Run(*options, context); });
}

}  // namespace draftmark
