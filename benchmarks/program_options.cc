#include "benchmarks/program_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <system_error>
#include <utility>

#include "src/perf/benchmark_counters.h"
#include "src/perf/run_order.h"

namespace draftmark {

StatusOr<std::vector<GivenOption>> TakeOptions(std::vector<std::string>& arguments,
                                               std::span<const ProgramOption> options) {
  std::vector<GivenOption> given;
  std::vector<std::string> others;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const std::string_view name = std::string_view(argument).substr(0, argument.find('='));
    const auto option = std::find_if(options.begin(), options.end(),
                                     [&](const ProgramOption& o) { return o.name == name; });
    if (i == 0 || option == options.end()) {
      others.push_back(argument);
      continue;
    }
    std::string value;
    if (name.size() < argument.size()) {
      value = argument.substr(name.size() + 1);
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    }
    if (value.empty()) {
      return InvalidArgumentError(fmt::format("{} needs a value: {}", option->name, option->value));
    }
    given.push_back({.name = option->name, .value = std::move(value)});
  }
  arguments = std::move(others);
  return given;
}

StatusOr<std::uint64_t> ParseNumberOption(const GivenOption& option, std::uint64_t least,
                                          std::uint64_t most) {
  std::uint64_t number = 0;
  const char* const end = option.value.data() + option.value.size();
  const auto [stop, error] = std::from_chars(option.value.data(), end, number);
  if (error != std::errc() || stop != end || number < least || number > most) {
    return InvalidArgumentError(
        fmt::format("{}: expected {} to {}, found {}", option.name, least, most, option.value));
  }
  return number;
}

StatusOr<double> ParseSecondsOption(const GivenOption& option, double least, double most) {
  double seconds = 0;
  const char* const end = option.value.data() + option.value.size();
  const auto [stop, error] = std::from_chars(option.value.data(), end, seconds);
  // Not the other way round: "nan" is in no range.
  if (error == std::errc() && stop == end && seconds >= least && seconds <= most) return seconds;
  return InvalidArgumentError(fmt::format("{}: expected {} to {} seconds, found {}", option.name,
                                          least, most, option.value));
}

StatusOr<bool> ParseChoiceOption(const GivenOption& option, std::string_view if_true,
                                 std::string_view if_false) {
  if (option.value == if_true) return true;
  if (option.value == if_false) return false;
  return InvalidArgumentError(
      fmt::format("{}: expected {} or {}, found {}", option.name, if_true, if_false, option.value));
}

StatusOr<std::vector<std::size_t>> OrderOfRun(std::size_t count, const char* seed) {
  if (seed == nullptr) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    return order;
  }
  DM_ASSIGN_OR_RETURN(const std::uint64_t number,
                      ParseNumberOption({kOrderSeedVariable, seed}, 0, UINT64_MAX));
  return ShuffledOrder(count, number);
}

void KeepOrder(const char* seed, std::vector<std::string>& arguments) {
  // The last of several counts.
  if (seed != nullptr) arguments.push_back("--benchmark_enable_random_interleaving=false");
}

}  // namespace draftmark
