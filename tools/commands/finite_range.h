// A check of numbers on the command line: CLI::Range lets "nan" through, of which every comparison is
// false, and a time limit of NaN never passes.
//
//   command.add_option("--timeout", options.seconds, "Seconds ...")->check(FiniteRange(0.001, 1e6));
//
// Both ends belong to the range. Thread-safe.
#ifndef DRAFTMARK_TOOLS_COMMANDS_FINITE_RANGE_H_
#define DRAFTMARK_TOOLS_COMMANDS_FINITE_RANGE_H_

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

namespace draftmark {

inline CLI::Validator FiniteRange(double least, double most) {
  return CLI::Validator(
      [least, most](const std::string& text) -> std::string {
        double value = 0;
        // Written so that NaN is outside.
        const bool inside =
            CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
        return inside ? "" : fmt::format("Value {} not in range {:g} to {:g}", text, least, most);
      },
      fmt::format("FLOAT in [{:g} - {:g}]", least, most), "");
}

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_FINITE_RANGE_H_
