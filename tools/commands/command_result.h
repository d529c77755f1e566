// What a `draftmark` command gave, for tests.
#ifndef DRAFTMARK_TOOLS_COMMANDS_COMMAND_RESULT_H_
#define DRAFTMARK_TOOLS_COMMANDS_COMMAND_RESULT_H_

#include <string>

namespace draftmark {

struct CommandResult {
  int code = 0;
  std::string out;
  std::string err;
};

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_COMMAND_RESULT_H_
