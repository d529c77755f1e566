#include "benchmarks/operations_options.h"

#include <cstdint>
#include <optional>

#include "benchmarks/program_options.h"

namespace draftmark {
namespace {

constexpr std::uint64_t kMostSamplesOption = 100000;
constexpr double kShortestLimit = 0.01;
constexpr double kLongestLimit = 86400;

constexpr ProgramOption kOptions[] = {{"--suite", "all or compact"},
                                      {"--cache", "cold or warm"},
                                      {"--samples", "N"},
                                      {"--judge", "on or off"},
                                      {"--samples_out", "FILE"},
                                      {"--backend", "the path of a plug-in"},
                                      {"--beside", "on or off"},
                                      {"--time-limit", "SECONDS"},
                                      {"--catalogue", "FILE"},
                                      {"--serve", "on or off"}};

// `judge` stays empty without the option.
Status Take(const GivenOption& option, OperationsOptions& options, std::optional<bool>& judge) {
  if (option.name == "--suite") {
    DM_ASSIGN_OR_RETURN(const bool all, ParseChoiceOption(option, "all", "compact"));
    options.suite = all ? Suite::kAll : Suite::kCompact;
  } else if (option.name == "--cache") {
    DM_ASSIGN_OR_RETURN(const bool cold, ParseChoiceOption(option, "cold", "warm"));
    options.cache = cold ? CacheState::kCold : CacheState::kWarm;
  } else if (option.name == "--samples") {
    DM_ASSIGN_OR_RETURN(options.sampling.samples, ParseNumberOption(option, 1, kMostSamplesOption));
  } else if (option.name == "--judge") {
    DM_ASSIGN_OR_RETURN(judge, ParseChoiceOption(option, "on", "off"));
  } else if (option.name == "--samples_out") {
    options.samples_out = option.value;
  } else if (option.name == "--backend") {
    options.plugin = option.value;
  } else if (option.name == "--beside") {
    DM_ASSIGN_OR_RETURN(options.beside, ParseChoiceOption(option, "on", "off"));
  } else if (option.name == "--time-limit") {
    DM_ASSIGN_OR_RETURN(options.time_limit,
                        ParseSecondsOption(option, kShortestLimit, kLongestLimit));
  } else if (option.name == "--serve") {
    DM_ASSIGN_OR_RETURN(options.serve, ParseChoiceOption(option, "on", "off"));
  } else {
    options.catalogue = option.value;
  }
  return OkStatus();
}

}  // namespace

StatusOr<OperationsOptions> TakeOperationsOptions(std::vector<std::string>& arguments) {
  DM_ASSIGN_OR_RETURN(const std::vector<GivenOption> given, TakeOptions(arguments, kOptions));
  OperationsOptions options;
  std::optional<bool> judge;
  bool limited = false;
  for (const GivenOption& option : given) {
    DM_RETURN_IF_ERROR(Take(option, options, judge));
    limited = limited || option.name == "--time-limit";
  }
  options.judge = judge.value_or(options.suite == Suite::kAll);
  if (!options.plugin.empty()) return options;
  if (options.beside) {
    return InvalidArgumentError("--beside: only a plug-in (--backend) has others beside it");
  }
  if (limited) return InvalidArgumentError("--time-limit: is that of a plug-in (--backend)");
  if (options.serve) return InvalidArgumentError("--serve: serves a plug-in (--backend)");
  return options;
}

std::string OperationsHelp() {
  return "operations_benchmark [--suite=all|compact] every operation at the shapes of every "
         "verified drafter, or some\n"
         "          sixty of them in a few seconds; default: all\n"
         "          [--cache=cold|warm] what is proved of the operands; default: cold\n"
         "          [--samples=N] clean samples of each benchmark; default: 30\n"
         "          [--judge=on|off] small cases are judged by their oracle first; default: on "
         "for all, off for compact\n"
         "          [--samples_out=FILE] every sample of each benchmark, a JSON line each\n"
         "          [--backend=PLUGIN] times a plug-in's CUDA kernels, in a process of its own; "
         "[--beside=on|off] and\n"
         "          ours beside them; [--time-limit=SECONDS] that one call of it may take; "
         "default: 60\n"
         "          [--catalogue=FILE] the drafters; default: "
         "golden/configs/drafter_configs.json\n";
}

std::vector<std::string> ServiceCommand(const OperationsOptions& options) {
  std::vector<std::string> command = {
      "/proc/self/exe",
      options.suite == Suite::kAll ? "--suite=all" : "--suite=compact",
      options.cache == CacheState::kCold ? "--cache=cold" : "--cache=warm",
      options.judge ? "--judge=on" : "--judge=off",
      "--backend=" + options.plugin,
      "--serve=on",
  };
  if (!options.catalogue.empty()) command.push_back("--catalogue=" + options.catalogue);
  return command;
}

}  // namespace draftmark
