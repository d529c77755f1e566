#include "benchmarks/benchmark_start.h"

#include <benchmark/benchmark.h>

#include <cstdlib>

#include "benchmarks/program_options.h"
#include "src/perf/benchmark_counters.h"

namespace draftmark {

bool StartBenchmark(std::vector<std::string>& arguments, void (*print_help)()) {
  KeepOrder(std::getenv(kOrderSeedVariable), arguments);
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  benchmark::Initialize(&argc, argv.data(), print_help);
  return !benchmark::ReportUnrecognizedArguments(argc, argv.data());
}

}  // namespace draftmark
