// `draftmark sizes`: the 41 buffer sizes of a model config, or a check of oracle rows.
#ifndef DRAFTMARK_TOOLS_COMMANDS_SIZES_SIZES_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_SIZES_SIZES_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddSizesCommand(CLI::App& app, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_SIZES_SIZES_COMMAND_H_
