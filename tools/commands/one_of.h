// A value of an enum by its name on the command line, with a plain message for any other word.
//
//   command.add_option("--look", look)->transform(OneOf<Look>({{"first", Look::kFirst}, ...}));
//   // --look: expected first or second, found "third"
#ifndef DRAFTMARK_TOOLS_COMMANDS_ONE_OF_H_
#define DRAFTMARK_TOOLS_COMMANDS_ONE_OF_H_

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace draftmark {

template <typename Enum>
CLI::Validator OneOf(const std::vector<std::pair<std::string, Enum>>& names) {
  std::string expected;
  std::string description;
  for (std::size_t i = 0; i < names.size(); ++i) {
    expected += (i == 0 ? "" : i + 1 < names.size() ? ", " : " or ") + names[i].first;
    description += (i == 0 ? "{" : ",") + names[i].first;
  }
  const auto to_number = [names, expected](std::string& word) {
    for (const auto& [name, value] : names) {
      if (name != word) continue;
      word = std::to_string(static_cast<int>(value));
      return std::string();
    }
    return "expected " + expected + ", found \"" + word + "\"";
  };
  return CLI::Validator(to_number, description + "}");
}

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_ONE_OF_H_
