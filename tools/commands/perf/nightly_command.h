// `draftmark perf nightly`: a night of the history against the nights before it, by the rules of
// src/perf/nightly.h. Exit codes: case_report.h; 5 where no case has enough nights before it.
//
// JSON: {schema_version: 1, night, verdict, exit_code, environments: [{architecture, gpu, driver,
// sentinel, commit, cases: [{name, schema, verdict, reason, baseline, seconds, nights, sentinel,
// baseline_s, ratio, threshold, again_ratio, changes: [{night, before_s, after_s, step}],
// reproduce}], counts: [{name, counter, night, expected, found, change}]}]}. baseline is false
// where there are too few nights; baseline_s, ratio and threshold are absent then, and again_ratio
// without fresh runs. counts are those that changed: larger, smaller, or missing, without found.
#ifndef DRAFTMARK_TOOLS_COMMANDS_PERF_NIGHTLY_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_PERF_NIGHTLY_COMMAND_H_

#include "tools/commands/command.h"

namespace draftmark {

void AddNightlyCommand(CLI::App& perf, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_PERF_NIGHTLY_COMMAND_H_
