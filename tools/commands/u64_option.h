// Numbers on the command line: full unsigned 64-bit, decimal digits only. CLI11's own conversion
// would also take "-1", "1.5" or "0x10" in part.
#ifndef DRAFTMARK_TOOLS_COMMANDS_U64_OPTION_H_
#define DRAFTMARK_TOOLS_COMMANDS_U64_OPTION_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace draftmark {

// INVALID_ARGUMENT: "expected an unsigned 64-bit integer, found TEXT".
StatusOr<std::uint64_t> ParseU64(std::string_view text);

// Adds `name` with one number as its value; `value` stays as it is if the option is not given. A
// bad number is a usage error that names the option.
CLI::Option* AddU64Option(CLI::App& command, const std::string& name, std::uint64_t& value,
                          const std::string& description);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_U64_OPTION_H_
