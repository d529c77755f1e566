#include "tools/commands/doctor/doctor_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <vector>

#include "tools/commands/doctor/checks.h"

namespace draftmark {
namespace {

struct Ability {
  MachinePart part;
  const char* name;  // in JSON
  const char* text;
};
constexpr Ability kAbilities[] = {
    {MachinePart::kCpu, "cpu", "build, test and verify on the CPU"},
    {MachinePart::kGpu, "gpu", "run on a GPU"},
};

}  // namespace

void RunDoctor(Machine& machine, const DoctorOptions& options, CommandContext& context) {
  std::vector<Finding> findings = CheckBuildTools(machine);
  for (Finding& finding : CheckResources(machine)) findings.push_back(std::move(finding));
  for (Finding& finding : CheckGpu(machine)) findings.push_back(std::move(finding));
  if (!LackingOf(findings, MachinePart::kCpu).empty() ||
      (options.gpu && !LackingOf(findings, MachinePart::kGpu).empty())) {
    context.exit_code = kExitMismatch;
  }
  if (options.format == OutputFormat::kJson) {
    OrderedJson json;
    json["findings"] = OrderedJson::array();
    for (const Finding& finding : findings) json["findings"].push_back(finding.ToJson());
    for (const Ability& ability : kAbilities) {
      const std::vector<std::string> lacking = LackingOf(findings, ability.part);
      json["can"][ability.name] = lacking.empty();
      json["lacking"][ability.name] = lacking;
    }
    PrintJson(context.out, json);
    return;
  }
  for (const Finding& finding : findings) context.out << finding.ToText() << "\n";
  for (const Ability& ability : kAbilities) {
    const std::vector<std::string> lacking = LackingOf(findings, ability.part);
    context.out << (lacking.empty() ? fmt::format("this machine can {}\n", ability.text)
                                    : fmt::format("this machine cannot {}: {}\n", ability.text,
                                                  fmt::join(lacking, ", ")));
  }
}

void AddDoctorCommand(CLI::App& app, CommandContext& context) {
  CLI::App& command =
      *app.add_subcommand("doctor", "What this machine can do, and what to install for the rest");
  auto options = std::make_shared<DoctorOptions>();
  command.add_flag("--gpu", options->gpu, "what a GPU run needs is required as well");
  AddFormatOption(command, options->format);
  command.callback([options, &context] { RunDoctor(*MakeRealMachine(), *options, context); });
}

}  // namespace draftmark
