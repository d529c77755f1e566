// `draftmark config FILE.json`: what was understood of a config.
//
// JSON: {"kind": "target", "family": F, "config": {34 fields}} or {"kind": "drafter", "geometry":
// {...}} with the key names of cases/hf_configs/expected.json, plus `details` for a drafter that
// has settings which the geometry does not show. Exit code 2 for a file that cannot be used.
#ifndef DRAFTMARK_TOOLS_COMMANDS_CONFIG_CONFIG_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_CONFIG_CONFIG_COMMAND_H_

#include <CLI/CLI.hpp>

#include "tools/commands/command.h"

namespace draftmark {

void AddConfigCommand(CLI::App& app, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_CONFIG_CONFIG_COMMAND_H_
