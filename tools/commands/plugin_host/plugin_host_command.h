// `draftmark plugin-host LIBRARY`: the process in which `draftmark verify --backend LIBRARY` runs a
// plug-in. Started by the program itself and shown in no help.
#ifndef DRAFTMARK_TOOLS_COMMANDS_PLUGIN_HOST_PLUGIN_HOST_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_PLUGIN_HOST_PLUGIN_HOST_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddPluginHostCommand(CLI::App& app, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_PLUGIN_HOST_PLUGIN_HOST_COMMAND_H_
