// The options that say from where a diagnosis takes config, weights and inputs.
#ifndef DRAFTMARK_TOOLS_COMMANDS_DIFF_SOURCE_OPTIONS_H_
#define DRAFTMARK_TOOLS_COMMANDS_DIFF_SOURCE_OPTIONS_H_

#include "conformance/diagnosis/source.h"
#include "tools/commands/command.h"

namespace draftmark {

void AddSourceOptions(CLI::App& command, DiagnosisPaths& paths);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_DIFF_SOURCE_OPTIONS_H_
