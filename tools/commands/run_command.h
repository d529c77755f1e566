// Runs one `draftmark` command in-process for a test, on string streams.
//
//   const CommandResult result = RunCommand({"sizes", path, "--format", "json"});
//   EXPECT_EQ(result.code, 0) << result.err;
#ifndef DRAFTMARK_TOOLS_COMMANDS_RUN_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_RUN_COMMAND_H_

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tools/commands/command_result.h"
#include "tools/commands/run.h"

namespace draftmark {

inline CommandResult RunCommand(std::vector<std::string> arguments, bool out_is_terminal = false,
                                const Clock& clock = RealClock()) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = RunDraftmark(std::move(arguments), out, err, out_is_terminal, clock);
  return {code, out.str(), err.str()};
}

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_RUN_COMMAND_H_
