// `draftmark dashboard --db FILE --out DIR`: the history as one page, and as files for other
// programs; `draftmark dashboard --demo --out DIR`: the same of a synthetic history.
//
// DIR is made. Its files are written one by one, each whole or not at all, the page last:
// points.csv, verdicts.csv, junit.xml, metrics.txt, index.html. Exit codes: 0, or 2 for wrong usage
// and a history that cannot be read; what the page says of regressions is the gate's to judge.
//
// JSON: {schema_version: 1, out, files: [names], testbeds, runs, trends, points, verdicts, slower,
// grown, failed, suites_failed}; the last four are the newest verdicts that are slower, exact
// counts above their recorded value, failing fields of the conformance matrix, and suites of tests
// whose newest total has a failure. Temporaries that a killed run left in DIR are removed.
#ifndef DRAFTMARK_TOOLS_COMMANDS_DASHBOARD_DASHBOARD_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_DASHBOARD_DASHBOARD_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddDashboardCommand(CLI::App& app, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_DASHBOARD_DASHBOARD_COMMAND_H_
