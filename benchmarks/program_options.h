// The own options of a benchmark program, taken out of its arguments before Google Benchmark reads
// the others.
//
//   constexpr ProgramOption kOptions[] = {{"--samples", "N"}, {"--suite", "all or compact"}};
//   DM_ASSIGN_OR_RETURN(const auto given, TakeOptions(arguments, kOptions));
//   for (const GivenOption& option : given) ...   // option.name, option.value, as given
//
// Pure.
#ifndef DRAFTMARK_BENCHMARKS_PROGRAM_OPTIONS_H_
#define DRAFTMARK_BENCHMARKS_PROGRAM_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace draftmark {

struct ProgramOption {
  std::string_view name;   // "--samples"
  std::string_view value;  // what it needs, for messages
};

struct GivenOption {
  std::string_view name;  // the ProgramOption's
  std::string value;
};

// --name=value and --name value; the first argument is the program and stays. INVALID_ARGUMENT for
// an option without its value.
StatusOr<std::vector<GivenOption>> TakeOptions(std::vector<std::string>& arguments,
                                               std::span<const ProgramOption> options);

// A decimal number from `least` to `most`; INVALID_ARGUMENT names the option.
StatusOr<std::uint64_t> ParseNumberOption(const GivenOption& option, std::uint64_t least,
                                          std::uint64_t most);

// Seconds from `least` to `most`, both finite; INVALID_ARGUMENT names the option.
StatusOr<double> ParseSecondsOption(const GivenOption& option, double least, double most);

// Which of two words a value is; INVALID_ARGUMENT names both.
StatusOr<bool> ParseChoiceOption(const GivenOption& option, std::string_view if_true,
                                 std::string_view if_false);

// In which order that many benchmarks run: that of src/perf/run_order.h for the seed in the
// environment (kOrderSeedVariable, whose text this is), or theirs where it is null.
// INVALID_ARGUMENT for what is no seed.
StatusOr<std::vector<std::size_t>> OrderOfRun(std::size_t count, const char* seed);

// With a seed, Google Benchmark must not shuffle what is in its order: whatever the arguments say
// of --benchmark_enable_random_interleaving, it is off.
void KeepOrder(const char* seed, std::vector<std::string>& arguments);

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_PROGRAM_OPTIONS_H_
