// `draftmark fuzz [--seed N] [--first N] [--cases N | --seconds N] [--tries N] [--backend
// reference|cuda] [--out DIR] [--only operations|histories] [--format text|json]`: draws cases of
// operations and of whole drafts, and makes what fails as small as it goes
// (conformance/random/fuzz.h). For a draft it writes a case folder below DIR, for an operation it
// prints the case's id: `draftmark verify` takes both. A folder that is there and holds another case is
// left alone. What cannot be written is in the output all the same, with its config.
//
// Exit codes: 0 nothing was found, 1 something was, 2 usage or data, or a finding that was not written.
#ifndef DRAFTMARK_TOOLS_COMMANDS_FUZZ_FUZZ_COMMAND_H_
#define DRAFTMARK_TOOLS_COMMANDS_FUZZ_FUZZ_COMMAND_H_

#include <cstdint>
#include <string>

#include "conformance/random/fuzz.h"
#include "tools/commands/command.h"

namespace draftmark {

struct FuzzRun {
  FuzzOptions fuzz;
  std::uint64_t seconds = 0;  // 0: as many cases as `fuzz` says
  std::string out = "fuzz-findings";
  OutputFormat format = OutputFormat::kText;
};
// Draws, prints and writes; sets the exit code. INVALID_ARGUMENT before the first case for an `out`
// that cannot be a folder of findings; at the end the error of the first finding that was not written.
// `device`: in words, or empty.
Status RunFuzz(const FuzzSubject& subject, const std::string& device, const FuzzRun& run,
               CommandContext& context);

void AddFuzzCommand(CLI::App& app, CommandContext& context);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_FUZZ_FUZZ_COMMAND_H_
