// `draftmark perf counts`: exact counts against the recorded ones; `draftmark perf accept CASE
// --reason TEXT`: records an intended change. Exit codes: case_report.h; 1 is larger, missing or
// gone, 5 a case of which nothing is recorded.
//
// JSON: {schema_version: 1, exit_code, cases, findings: [{kind (larger, gone, new, smaller,
// missing), architecture, case, field, expected, found, message, accept}], unseen: [{architecture,
// case}], reproduce}. unseen are recorded cases of the results' GPUs that the results do not have;
// with --complete they are gone.
#ifndef DRAFTMARK_TOOLS_COMMANDS_PERF_COUNTS_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_PERF_COUNTS_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddCountsCommand(CLI::App& perf, CommandContext& context);
void AddAcceptCommand(CLI::App& perf, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_PERF_COUNTS_COMMAND_H_
