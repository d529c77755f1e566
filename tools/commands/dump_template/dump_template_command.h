// `draftmark dump-template CASE`, or with --weights or --config and --inputs: the tensors that an
// engine should dump for `draftmark diff`, and a snippet of Python that writes them from a PyTorch
// model.
#ifndef DRAFTMARK_TOOLS_COMMANDS_DUMP_TEMPLATE_DUMP_TEMPLATE_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_DUMP_TEMPLATE_DUMP_TEMPLATE_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddDumpTemplateCommand(CLI::App& app, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_DUMP_TEMPLATE_DUMP_TEMPLATE_COMMAND_H_
