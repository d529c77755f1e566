// `draftmark doctor`: what this machine can do, and what to install for the rest.
#ifndef DRAFTMARK_TOOLS_COMMANDS_DOCTOR_DOCTOR_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_DOCTOR_DOCTOR_COMMAND_H_

#include "tools/commands/command.h"
#include "tools/commands/doctor/machine.h"

namespace draftmark {

void AddDoctorCommand(CLI::App& app, CommandContext& context);

struct DoctorOptions {
  bool gpu = false;  // what a GPU run needs is required as well
  OutputFormat format = OutputFormat::kText;
};
// The command on a given machine. Exit code 0 if everything required is there, else 1.
void RunDoctor(Machine& machine, const DoctorOptions& options, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_DOCTOR_DOCTOR_COMMAND_H_
