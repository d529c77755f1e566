// `draftmark architectures`: what is known of each operation on each GPU architecture.
//
// Exit codes: 0, or 2 where the files contradict each other or are not there.
#ifndef DRAFTMARK_TOOLS_COMMANDS_ARCHITECTURES_ARCHITECTURES_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_ARCHITECTURES_ARCHITECTURES_COMMAND_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "conformance/expectations/architectures.h"
#include "src/base/json.h"
#include "tools/commands/command.h"

namespace draftmark {

// The context must outlive the app.
void AddArchitecturesCommand(CLI::App& app, CommandContext& context);

// A line for each architecture and state, with the operations it holds for ("all" for every one), and one
// for each result that was not counted.
std::string ArchitecturesText(const Architectures& known);
// {"schema_version": 1, "built": [...], "rows": [{"architecture", "operation", "state", "detail"}],
//  "not_counted": ["FILE: why", ...]}
OrderedJson ArchitecturesJson(const Architectures& known);
// One <testsuite> of JUnit, indented by two: what ran has passed, the rest is skipped with its text.
std::string ArchitecturesJunit(const std::vector<ArchitectureRow>& rows);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_ARCHITECTURES_ARCHITECTURES_COMMAND_H_
