// The whole program as a function: parses the command line, runs one subcommand, returns the exit
// code.
#ifndef DRAFTMARK_TOOLS_COMMANDS_RUN_H_
#define DRAFTMARK_TOOLS_COMMANDS_RUN_H_

#include <ostream>
#include <string>
#include <vector>

#include "src/base/clock.h"

namespace draftmark {

// `arguments` without the program's name. Never throws.
int RunDraftmark(std::vector<std::string> arguments, std::ostream& out, std::ostream& err,
                 bool out_is_terminal = false, const Clock& clock = RealClock());

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_RUN_H_
