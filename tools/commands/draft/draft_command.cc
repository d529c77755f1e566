#include "tools/commands/draft/draft_command.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <memory>
#include <string>

#include "tools/commands/draft/draft_run.h"
#include "tools/commands/u64_option.h"

namespace draftmark {
namespace {

double PeakGigabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e9;  // Linux counts in KiB
}

std::string StepText(const DraftReport& report, const DraftOptions& options, std::size_t s) {
  const DraftStepReport& step = report.steps[s];
  const std::string blocks =
      step.tokens.size() > 1 ? fmt::format("{} blocks", step.tokens.size()) : "block";
  std::string text = fmt::format("step {}: {} context rows, {} of {}: ", s, step.context_rows,
                                 blocks, report.gamma);
  text += report.device.empty() ? fmt::format("{:.1f} s", step.seconds)
                                : fmt::format("{:.3f} ms", step.seconds * 1e3);
  if (step.stages > 0) text += fmt::format(", {} stages", step.stages);
  if (options.check) {
    text += fmt::format(", {} checked: {}", step.findings.checked,
                        step.findings.first_off.empty() ? std::string("all within their bounds")
                                                        : "off: " + step.findings.first_off);
  }
  text += '\n';
  for (std::size_t band = 0; band < step.tokens.size(); ++band) {
    text += step.tokens.size() > 1 ? fmt::format("  band {}:", band) : "  draft tokens";
    text += fmt::format(" {}\n", fmt::join(step.tokens[band], " "));
  }
  return text;
}

std::string ReportText(const DraftReport& report, const DraftOptions& options) {
  std::string text =
      fmt::format("{} {}{}: weights generated in {:.1f} s\n",
                  options.entry.empty() ? options.config : options.entry, options.precision,
                  report.device.empty() ? "" : " on " + report.device, report.weights_seconds);
  for (std::size_t s = 0; s < report.steps.size(); ++s) text += StepText(report, options, s);
  if (const auto& bytes = report.device_bytes) {
    text +=
        fmt::format("device memory {} bytes: weights {}, cache {}, scratch {}, workspace {}\n",
                    bytes->total(), bytes->weights, bytes->cache, bytes->scratch, bytes->workspace);
  }
  return text + fmt::format("peak memory {:.1f} GB\n", PeakGigabytes());
}

OrderedJson ReportJson(const DraftReport& report, const DraftOptions& options) {
  OrderedJson json = {{"case", report.case_id},
                      {"entry", options.entry},
                      {"precision", options.precision},
                      {"weights_seconds", report.weights_seconds},
                      {"peak_gigabytes", PeakGigabytes()}};
  if (!report.device.empty()) json["device"] = report.device;
  if (const auto& bytes = report.device_bytes) {
    json["device_bytes"] = {{"total", bytes->total()},
                            {"weights", bytes->weights},
                            {"cache", bytes->cache},
                            {"scratch", bytes->scratch},
                            {"workspace", bytes->workspace}};
  }
  for (const DraftStepReport& step : report.steps) {
    OrderedJson one = {{"seconds", step.seconds},          {"stages", step.stages},
                       {"checked", step.findings.checked}, {"used_share", step.findings.used_share},
                       {"off", step.findings.first_off},   {"draft_tokens", step.tokens.front()}};
    if (step.tokens.size() > 1) one["draft_tokens"] = step.tokens;
    json["steps"].push_back(std::move(one));
  }
  return json;
}

void RunAndPrint(const DraftOptions& options, OutputFormat format, CommandContext& context) {
  const StatusOr<DraftReport> report = RunDraft(options);
  if (!report.ok()) return context.Fail(report.status());
  for (const DraftStepReport& step : report->steps) {
    if (!step.findings.first_off.empty()) context.exit_code = kExitMismatch;
  }
  if (format == OutputFormat::kJson) {
    PrintJson(context.out, ReportJson(*report, options));
  } else {
    context.out << ReportText(*report, options);
  }
}

}  // namespace

void AddDraftCommand(CLI::App& app, CommandContext& context) {
  struct Parsed {
    DraftOptions draft;
    std::uint64_t gamma = 0;
    OutputFormat format = OutputFormat::kText;
  };
  auto parsed = std::make_shared<Parsed>();
  DraftOptions& options = parsed->draft;
  CLI::App* const command = app.add_subcommand(
      "draft", "Run a drafter of any size on generated weights; --check recomputes every stage");
  command->add_option("CONFIG", options.config, "config.json of a drafter, or a catalogue")
      ->required();
  command->add_option("--entry", options.entry, "Name of the entry in a catalogue");
  command
      ->add_option("--backend", options.backend,
                   "Who computes: the reference on the CPU, or the CUDA kernels on the first GPU, "
                   "where the weights are generated as well")
      ->check(CLI::IsMember({"reference", "cuda"}))
      ->capture_default_str();
  AddU64Option(*command, "--context", options.context, "Context rows of the first step (64)");
  AddU64Option(*command, "--seed", options.seed, "Of weights and inputs (1)");
  AddU64Option(*command, "--bands", options.bands, "Sequences that are drafted together (1)");
  CLI::Option* const gamma =
      AddU64Option(*command, "--gamma", parsed->gamma, "Rows of a block (as trained)");
  command
      ->add_option("--precision", options.precision,
                   "exact: float64, of the reference only; bf16: rounded at the normative points")
      ->check(CLI::IsMember({"exact", "bf16"}))
      ->capture_default_str();
  command->add_flag("--check", options.check,
                    "Compare every stage with formulas written apart from the reference");
  AddFormatOption(*command, parsed->format);
  command->callback([parsed, gamma, &context] {
    if (gamma->count() > 0) parsed->draft.gamma = parsed->gamma;
    RunAndPrint(parsed->draft, parsed->format, context);
  });
}

}  // namespace draftmark
