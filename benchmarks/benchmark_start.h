// How a program of this folder begins: Google Benchmark takes its options out of the command line.
#ifndef DRAFTMARK_BENCHMARKS_BENCHMARK_START_H_
#define DRAFTMARK_BENCHMARKS_BENCHMARK_START_H_

#include <string>
#include <vector>

namespace draftmark {

// `arguments` are what the program's own options have left; the order of the run is that of the
// environment (program_options.h). `print_help` is for --help. False if something is left that nobody
// knows, which the library has told. Once, from main.
bool StartBenchmark(std::vector<std::string>& arguments, void (*print_help)());

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_BENCHMARK_START_H_
