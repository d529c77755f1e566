#include "tools/commands/u64_option.h"

#include <charconv>

namespace draftmark {

StatusOr<std::uint64_t> ParseU64(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  // from_chars into an unsigned type takes neither sign, blanks nor prefixes.
  const auto [parsed, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || parsed != end) {
    return InvalidArgumentError("expected an unsigned 64-bit integer, found " + std::string(text));
  }
  return value;
}

CLI::Option* AddU64Option(CLI::App& command, const std::string& name, std::uint64_t& value,
                          const std::string& description) {
  return command
      .add_option_function<std::string>(
          name,
          [name, &value](const std::string& text) {
            const StatusOr<std::uint64_t> parsed = ParseU64(text);
            // CLI11 reports usage errors by exceptions; RunDraftmark catches them.
            if (!parsed.ok()) throw CLI::ValidationError(name, parsed.status().message());
            value = *parsed;
          },
          description)
      ->type_name("N");
}

}  // namespace draftmark
