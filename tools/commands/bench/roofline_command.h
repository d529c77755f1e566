// `draftmark bench roofline [--out FILE] [--runs N] [--only TEXT] [--no-baseline] [--python
// PROGRAM] [--baseline-seconds N] [--format text|json]`: how near drafts and their linear layers
// come to the limit of memory bandwidth on the first GPU, against goals and against PyTorch. Exit
// code 1 if a must is missed or a time cannot be, 2 without a GPU.
#ifndef DRAFTMARK_TOOLS_COMMANDS_BENCH_ROOFLINE_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_BENCH_ROOFLINE_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

// Adds it to `bench`.
void AddRooflineCommand(CLI::App& bench, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_BENCH_ROOFLINE_COMMAND_H_
