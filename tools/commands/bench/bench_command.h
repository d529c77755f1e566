// `draftmark bench NAME`: measurements that are judged. roofline_command.h is the one so far;
// single times are for the programs in benchmarks/.
#ifndef DRAFTMARK_TOOLS_COMMANDS_BENCH_BENCH_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_BENCH_BENCH_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddBenchCommand(CLI::App& app, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_BENCH_BENCH_COMMAND_H_
