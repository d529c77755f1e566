#include "tools/commands/scratch/scratch_command.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "src/config/drafter_config.h"
#include "tools/commands/scratch/scratch_report.h"
#include "tools/commands/u64_option.h"

namespace draftmark {
namespace {

struct Options {
  std::string drafter;
  std::string entry;
  std::string layout;
  bool as_upstream = false;
  std::uint64_t gamma = 0;
  bool gamma_given = false;
  DflashScratchRequest request;
  OutputFormat format = OutputFormat::kText;
};

StatusOr<DflashScratchRequest> MakeRequest(const Options& options, const DrafterConfig& config) {
  DflashScratchRequest request = options.request;
  request.geometry = DflashGeometry::FromConfig(config);
  request.tensors = DrafterTensorsPresent::FromConfig(config);
  if (options.gamma_given) request.gamma = options.gamma;
  const std::string as_upstream(DflashLayoutNameText(DflashLayoutName::kAsUpstream));
  if (options.as_upstream && !options.layout.empty() && options.layout != as_upstream) {
    return InvalidArgumentError(
        fmt::format("--as-upstream and --layout {} exclude each other", options.layout));
  }
  const std::string& name = options.as_upstream ? as_upstream : options.layout;
  if (!name.empty()) {
    DM_ASSIGN_OR_RETURN(request.layout, ParseDflashLayoutName(request.version, name));
  }
  return request;
}

void PrintScratch(const Options& options, CommandContext& context) {
  const StatusOr<DrafterConfig> config = LoadDrafterConfig(options.drafter, options.entry);
  if (!config.ok()) return context.Fail(config.status());
  const StatusOr<DflashScratchRequest> request = MakeRequest(options, *config);
  if (!request.ok()) return context.Fail(request.status());
  const std::string source = options.entry.empty()
                                 ? options.drafter
                                 : fmt::format("{} ({})", options.drafter, options.entry);
  StatusOr<ScratchReport> report = ScratchReport::Create(source, *request);
  if (!report.ok()) return context.Fail(report.status());
  if (config->draft_vocab_size.value_or(config->vocab_size) != config->vocab_size) {
    report->warnings.push_back(
        fmt::format("logits: sized for vocab_size ({}), but this drafter's own LM head has {} rows",
                    config->vocab_size, *config->draft_vocab_size));
  }
  for (const std::string& warning : report->warnings) {
    context.err << "draftmark: warning: " << source << ": " << warning << "\n";
  }
  if (options.format == OutputFormat::kJson) {
    PrintJson(context.out, report->ToJson());
  } else {
    context.out << report->ToText();
  }
}

}  // namespace

void AddScratchCommand(CLI::App& app, CommandContext& context) {
  CLI::App& command = *app.add_subcommand(
      "scratch", "Fields, shapes and bytes of a DFlash drafter's scratch buffers");
  auto options = std::make_shared<Options>();
  DflashScratchRequest& request = options->request;
  command
      .add_option("DRAFTER", options->drafter,
                  "config.json of a drafter, or a collection of entries (then --entry)")
      ->required();
  AddU64Option(command, "--version", request.version, "1 (26 fields) or 2 (27 fields, batched)")
      ->required();
  AddU64Option(command, "--ctx-window", request.ctx_window, "context rows of one precompute pass")
      ->required();
  AddU64Option(command, "--max-batch", request.max_batch, "sequences; version 1 takes 1 only")
      ->required();
  CLI::Option* const gamma =
      AddU64Option(command, "--gamma", options->gamma,
                   "widest block in rows (default: the config's block size)");
  command
      .add_option("--layout", options->layout,
                  "version 1: doc (default), code-a, code-b; version 2: normative (default), "
                  "as-upstream")
      ->type_name("NAME");
  command.add_flag("--as-upstream", options->as_upstream,
                   "version 2: slot_mapping_dev of ctx_window entries, as upstream allocates it");
  command.add_flag("--batched-heads", request.batched_heads,
                   "conf_out for all sequences instead of one");
  command.add_option("--entry", options->entry, "name of the entry in a collection")
      ->type_name("NAME");
  AddFormatOption(command, options->format);
  command.callback([options, gamma, &context] {
    options->gamma_given = gamma->count() > 0;
    PrintScratch(*options, context);
  });
}

}  // namespace draftmark
