// What every subcommand of `draftmark` shares: where it writes, what day it is, its exit codes, the
// --format option, how JSON is printed.
//
// A subcommand is one function `void AddXCommand(CLI::App& app, CommandContext& context)` in a
// folder of its own. It adds itself to `app` with a callback; the callback writes to the context's
// streams and sets the exit code. So a test runs a subcommand in-process, on string streams.
#ifndef DRAFTMARK_TOOLS_COMMANDS_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_COMMAND_H_

#include <CLI/CLI.hpp>
#include <ostream>
#include <string>
#include <string_view>

#include "src/base/clock.h"
#include "src/base/json.h"
#include "src/base/status.h"

namespace draftmark {

// Part of the command line contract.
enum ExitCode : int {
  kExitGood = 0,
  kExitMismatch = 1,  // the command worked and found a difference
  kExitError = 2,     // wrong usage, or data that cannot be used
};

struct CommandContext {
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;  // progress lines may be rewritten in place
  const Clock& clock = RealClock();
  int exit_code = kExitGood;

  // Prints "draftmark: MESSAGE" to `err` and sets the exit code to kExitError.
  void Fail(const Status& status);
};

enum class OutputFormat { kText, kJson };

// Adds `--format text|json` (default text).
void AddFormatOption(CLI::App& command, OutputFormat& format);

// Indented by two, with a newline at the end. Bytes that are not UTF-8, as a path may have them,
// come out as U+FFFD: what is printed is always JSON.
void PrintJson(std::ostream& out, const OrderedJson& json);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_COMMAND_H_
