#include "tools/commands/draft/draft_command.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "conformance/drafts/local_oracle.h"
#include "conformance/drafts/run_case.h"
#include "conformance/golden/draft_specs.h"
#include "src/cases/drafter_case.h"
#include "src/compare/tolerance.h"
#include "src/config/config_file.h"
#include "tools/commands/u64_option.h"

namespace draftmark {
namespace {

struct DraftOptions {
  std::string config;
  std::string entry;
  std::uint64_t context = 64;
  std::uint64_t seed = 1;
  std::string precision = "bf16";
  bool check = false;
  OutputFormat format = OutputFormat::kText;
};

// Seconds since the last call.
class Stopwatch {
 public:
  double Lap() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> lap = now - last_;
    last_ = now;
    return lap.count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

double PeakGigabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e9;  // Linux counts in KiB
}

// The config with a generator and steps, as a case's config.json would have them.
StatusOr<Json> GeneratedConfig(const DraftOptions& options) {
  DM_ASSIGN_OR_RETURN(const DrafterConfig config, LoadDrafterConfig(options.config, options.entry));
  DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(options.config));
  DM_ASSIGN_OR_RETURN(const Json parsed, ParseJson(text, options.config));
  OrderedJson json(parsed);
  if (const auto entries = parsed.find("configs"); entries != parsed.end()) {
    for (const Json& entry : *entries) {
      const bool only = entries->size() == 1 && options.entry.empty();
      if (only || entry.value("name", "") == options.entry) json = OrderedJson(entry);
    }
  }
  AddGeneratedSteps(json, fmt::format("seed {}", options.seed), options.context, config.vocab_size,
                    {.seed = options.seed});
  return Json(json);
}

struct StepSummary {
  std::vector<double> tokens;
  std::size_t stages = 0;
  double seconds = 0;  // the draft itself
  LocalFindings findings;
};

class Run {
 public:
  Run(const DraftOptions& options, CommandContext& context)
      : options_(options), context_(context) {}

  Status Draft() {
    DM_ASSIGN_OR_RETURN(const Json json, GeneratedConfig(options_));
    DM_ASSIGN_OR_RETURN(const DrafterCase drafter_case,
                        DrafterCase::WithoutStages(json, options_.config));
    weights_seconds_ = watch_.Lap();
    const Precision precision = options_.precision == "bf16" ? Precision::kBf16 : Precision::kExact;
    DM_ASSIGN_OR_RETURN(const DrafterWeights weights,
                        LoadDrafterWeights(drafter_case.config(), drafter_case.checkpoint()));
    DM_ASSIGN_OR_RETURN(
        const std::unique_ptr<LocalOracle> oracle,
        LocalOracle::Open(drafter_case, weights, precision, Accumulation::kFloat64));
    watch_.Lap();
    const auto on_step = [&](std::size_t step, const TappedStages& tapped) -> Status {
      StepSummary summary;
      summary.seconds = watch_.Lap();
      summary.stages = tapped.size();
      summary.tokens = tapped.at("draft_tokens").values;
      if (options_.check) {
        summary.findings =
            CompareWithLocal(drafter_case.config(), tapped, oracle->Step(step, tapped));
        if (!summary.findings.without_oracle.empty()) {
          return InternalError(fmt::format("step {}: no second computation of {}", step,
                                           fmt::join(summary.findings.without_oracle, ", ")));
        }
      }
      steps_.push_back(std::move(summary));
      watch_.Lap();
      return OkStatus();
    };
    DM_RETURN_IF_ERROR(TapCase(drafter_case, precision, OpenReferenceForCase, on_step));
    Print(drafter_case);
    return OkStatus();
  }

 private:
  void Print(const DrafterCase& drafter_case) {
    OrderedJson json = {{"case", drafter_case.id().ToString()},
                        {"entry", options_.entry},
                        {"precision", options_.precision},
                        {"weights_seconds", weights_seconds_},
                        {"peak_gigabytes", PeakGigabytes()}};
    std::string text = fmt::format("{} {}: weights generated in {:.1f} s\n",
                                   options_.entry.empty() ? options_.config : options_.entry,
                                   options_.precision, weights_seconds_);
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const StepSummary& step = steps_[s];
      text += fmt::format("step {}: {} context rows, block of {}: {:.1f} s, {} stages", s,
                          drafter_case.steps()[s].new_context_rows, drafter_case.gamma(),
                          step.seconds, step.stages);
      if (options_.check) {
        text += fmt::format(", {} checked: {}", step.findings.checked,
                            step.findings.first_off.empty() ? std::string("all within their bounds")
                                                            : "off: " + step.findings.first_off);
        if (!step.findings.first_off.empty()) context_.exit_code = kExitMismatch;
      }
      text += fmt::format("\n  draft tokens {}\n", fmt::join(step.tokens, " "));
      json["steps"].push_back({{"seconds", step.seconds},
                               {"stages", step.stages},
                               {"checked", step.findings.checked},
                               {"used_share", step.findings.used_share},
                               {"off", step.findings.first_off},
                               {"draft_tokens", step.tokens}});
    }
    text += fmt::format("peak memory {:.1f} GB\n", PeakGigabytes());
    if (options_.format == OutputFormat::kJson) {
      PrintJson(context_.out, json);
    } else {
      context_.out << text;
    }
  }

  const DraftOptions& options_;
  CommandContext& context_;
  Stopwatch watch_;
  double weights_seconds_ = 0;
  std::vector<StepSummary> steps_;
};

}  // namespace

void AddDraftCommand(CLI::App& app, CommandContext& context) {
  auto options = std::make_shared<DraftOptions>();
  CLI::App* const command = app.add_subcommand(
      "draft", "Run a drafter of any size on generated weights; --check recomputes every stage");
  command->add_option("CONFIG", options->config, "config.json of a drafter, or a catalogue")
      ->required();
  command->add_option("--entry", options->entry, "Name of the entry in a catalogue");
  AddU64Option(*command, "--context", options->context, "Context rows of the first step (64)");
  AddU64Option(*command, "--seed", options->seed, "Of weights and inputs (1)");
  command
      ->add_option("--precision", options->precision,
                   "exact: float64; bf16: rounded at the normative points")
      ->check(CLI::IsMember({"exact", "bf16"}))
      ->capture_default_str();
  command->add_flag("--check", options->check,
                    "Compare every stage with formulas written apart from the reference");
  AddFormatOption(*command, options->format);
  command->callback([options, &context] {
    if (const Status status = Run(*options, context).Draft(); !status.ok()) context.Fail(status);
  });
}

}  // namespace draftmark
