#include "tools/commands/draft/draft_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
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

std::string WeightsText(const DraftReport& report, const DraftOptions& options) {
  return fmt::format("{} {}{}: weights {} in {:.1f} s\n",
                     options.entry.empty() ? options.config : options.entry, options.precision,
                     report.device.empty() ? "" : " on " + report.device,
                     options.weights.empty() ? "generated" : "loaded", report.weights_seconds);
}

std::string MemoryText(const DraftReport& report) {
  std::string text;
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
                      {"weights", options.weights.empty() ? "generated" : options.weights},
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
  // Minutes may lie between two lines of a drafter of full size.
  const auto print = [&](const DraftReport& so_far) {
    if (format != OutputFormat::kText) return;
    context.out << (so_far.steps.empty() ? WeightsText(so_far, options)
                                         : StepText(so_far, options, so_far.steps.size() - 1))
                << std::flush;
  };
  const StatusOr<DraftReport> report = RunDraft(options, print);
  if (!report.ok()) return context.Fail(report.status());
  for (const DraftStepReport& step : report->steps) {
    if (!step.findings.first_off.empty()) context.exit_code = kExitMismatch;
  }
  if (format == OutputFormat::kJson) {
    PrintJson(context.out, ReportJson(*report, options));
  } else {
    context.out << MemoryText(*report);
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
      "draft",
      "Run a drafter of any size on generated weights or a checkpoint's; --check recomputes every "
      "stage");
  command->add_option("CONFIG", options.config, "config.json of a drafter, or a catalogue")
      ->required();
  command->add_option("--entry", options.entry, "Name of the entry in a catalogue");
  // "$FOLDER" that is not set must not fall back to generated weights.
  const CLI::Validator not_empty([](std::string& path) { return path.empty() ? "empty path" : ""; },
                                 "");
  command
      ->add_option("--weights", options.weights,
                   "The drafter's checkpoint in Hugging Face layout: file, index or folder; "
                   "default: generated")
      ->check(not_empty);
  command
      ->add_option("--target-weights", options.target_weights,
                   "The target's checkpoint, for the embedding and the LM head that a drafter "
                   "shares with it")
      ->check(not_empty);
  command
      ->add_option("--backend", options.backend,
                   "Who computes: the reference on the CPU, or the CUDA kernels on the first GPU, "
                   "where weights are generated as well")
      ->check(CLI::IsMember({"reference", "cuda"}))
      ->capture_default_str();
  AddU64Option(*command, "--context", options.context, "Context rows of the first step (64)");
  AddU64Option(*command, "--seed", options.seed, "Of generated weights and of inputs (1)");
  AddU64Option(*command, "--bands", options.bands,
               "Sequences that are drafted together, 1 to 64 (1)");
  CLI::Option* const gamma =
      AddU64Option(*command, "--gamma", parsed->gamma, "Rows of a block, 2 to 32 (as trained)");
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
