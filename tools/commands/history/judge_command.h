// `draftmark history judge PATH...`: what results say of conformance, before or without a history.
// Takes what `history import` takes, needs no commit and no time, and writes nothing.
//
// Text: a line for each failure ("FAIL kernels/gpu_test Norm.Small: ...", "FAIL op/... cuda bf16:
// CHANGED SIGNATURE"), "BROKEN PROGRAM: ..." for a program that left no results, and one line about
// each path. JSON: {schema_version: 1, failed, broken, checked, paths: [{path, checked, failures:
// [text], broken: [text]}]}.
//
// Times are not judged here: of a `run bench` only programs that broke are told.
#ifndef DRAFTMARK_TOOLS_COMMANDS_HISTORY_JUDGE_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_HISTORY_JUDGE_COMMAND_H_

#include <string>
#include <vector>

#include "src/perf/history/record.h"
#include "tools/commands/command.h"

namespace draftmark {

// Exit codes beside those of command.h.
inline constexpr int kNothingChecked = 3;  // there are no conformance results

struct ConformanceJudgement {
  bool checked = false;                    // there was something to judge
  std::vector<std::string> failures = {};  // one line each
  std::vector<std::string> broken = {};    // programs that left no results
};
ConformanceJudgement JudgeConformance(const std::vector<RunRecord>& runs);

void AddJudgeCommand(CLI::App& history, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_HISTORY_JUDGE_COMMAND_H_
