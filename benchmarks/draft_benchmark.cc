// How long whole drafts take on the GPU, against what their bytes would take at the copy bandwidth
// of the same GPU in the same process.
//
//   bazel run //benchmarks:draft_benchmark -- --benchmark_format=json
//   bazel run //benchmarks:draft_benchmark -- --draft=qwen3-4b-dflash-b16,ctx=8192,nb=4
//
// --draft=ENTRY,gamma=N,ctx=N,new=N,nb=N (any number of them) replaces the default drafts;
// --catalogue FILE is where entries are looked up (draft_case.h). --path=simple times the kernels
// that run on every architecture, without streaming chains (CudaSessionOptions::fast); the report's
// context says which path it was.
//
// A benchmark is one draft in its steady state (steady_draft.h), run kRuns times in each of three
// ways. Its time is the median of the graph between two events on a GPU that was idle before: the
// unit that pytorch_baseline.py times, precompute of the new rows, block and tail. Google
// Benchmark's CPU time and iterations say nothing here. A run reads gigabytes, so nothing that it
// needs is left in the L2 cache from the run before.
//
// Counters, milliseconds: min_ms and p90_ms of the same runs; queued_ms, the median where the host
// is ahead, so the GPU's work without the wait for a launch; propose_ms, the median by the host's
// clock of a whole Propose, copies included; floor_ms, floor_bytes at the copy bandwidth (bytes read
// and written together). ratio_to_floor is the benchmark's time over floor_ms. Bytes and
// operations: draft_cost.h. Device memory by purpose: memory_*, SessionMemory.
//
// Exit code 1: a benchmark failed, also by other tokens than before; 2: the machine or the command
// line is wrong.
#include <benchmark/benchmark.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/benchmark_context.h"
#include "benchmarks/benchmark_gpu.h"
#include "benchmarks/draft_case.h"
#include "benchmarks/draft_cost.h"
#include "benchmarks/quantile.h"
#include "benchmarks/steady_draft.h"
#include "kernels/draft/cuda_session.h"
#include "src/base/status.h"

namespace draftmark {
namespace {

constexpr std::size_t kRuns = 100;

Status Measure(BenchmarkGpu& gpu, const DraftCase& c, const kernels::CudaSessionOptions& session,
               benchmark::State& state) {
  DM_ASSIGN_OR_RETURN(const std::unique_ptr<SteadyDraft> draft, SteadyDraft::Open(gpu, c, session));
  DM_ASSIGN_OR_RETURN(const DraftTimes times, draft->Measure(kRuns));
  const double graph_ms = Quantile(times.graph, 0.5);
  for ([[maybe_unused]] auto iteration : state) state.SetIterationTime(graph_ms / 1e3);

  state.SetLabel(c.id);  // the name has Google Benchmark's remarks behind it
  const auto floor_bytes = static_cast<double>(FloorBytes(c.config, c.shape).total());
  const double floor_ms = floor_bytes / gpu.copy_bytes_per_second() * 1e3;
  const kernels::SessionMemory memory = draft->memory();
  benchmark::UserCounters& counters = state.counters;
  counters["min_ms"] = times.graph.front();
  counters["p90_ms"] = Quantile(times.graph, 0.9);
  counters["queued_ms"] = Quantile(times.queued, 0.5);
  counters["propose_ms"] = Quantile(times.propose, 0.5);
  counters["floor_ms"] = floor_ms;
  counters["ratio_to_floor"] = graph_ms / floor_ms;
  counters["floor_bytes"] = floor_bytes;
  counters["second_read_bytes"] = static_cast<double>(SecondReadBytes(c.config, c.shape));
  counters["flops"] = DraftFlops(c.config, c.shape);
  counters["runs"] = static_cast<double>(kRuns);
  counters["memory_weights"] = static_cast<double>(memory.weights);
  counters["memory_cache"] = static_cast<double>(memory.cache);
  counters["memory_scratch"] = static_cast<double>(memory.scratch);
  counters["memory_workspace"] = static_cast<double>(memory.workspace);
  return OkStatus();
}

void PrintHelp() {
  std::cout << "draft_benchmark [--draft=ENTRY,gamma=N,ctx=N,new=N,nb=N]...\n"
               "          what to time: an entry of the catalogue, rows of a block, of the context "
               "and new ones, blocks;\n"
               "          without it, the drafts that are compared with PyTorch\n"
               "          [--catalogue=FILE] where entries are looked up; default: "
               "golden/configs/drafter_configs.json\n"
               "          [--path=fast|simple] streaming chains where they fit, or one kernel for "
               "each step; default: fast\n";
  benchmark::PrintDefaultHelp();
}

// Says what is wrong with the command line or the machine.
int Refuse(const Status& status) {
  std::cerr << "draft_benchmark: " << status.message() << "\n";
  return 2;
}

int Main(std::vector<std::string> arguments) {
  const StatusOr<DraftCaseOptions> options = TakeDraftOptions(arguments);
  if (!options.ok()) return Refuse(options.status());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  benchmark::Initialize(&argc, argv.data(), PrintHelp);
  if (benchmark::ReportUnrecognizedArguments(argc, argv.data())) return 2;
  const StatusOr<std::vector<DraftCase>> cases = FindDraftCases(*options);
  if (!cases.ok()) return Refuse(cases.status());
  const StatusOr<std::unique_ptr<BenchmarkGpu>> gpu = BenchmarkGpu::Create();
  if (!gpu.ok()) return Refuse(gpu.status());
  AddBenchmarkContext(**gpu);
  benchmark::AddCustomContext("path", options->fast ? "fast" : "simple");
  kernels::CudaSessionOptions session;
  session.fast = options->fast;
  bool failed = false;
  for (const DraftCase& c : *cases) {
    benchmark::RegisterBenchmark(c.id.c_str(),
                                 [&gpu, &c, &session, &failed](benchmark::State& state) {
                                   const Status status = Measure(**gpu, c, session, state);
                                   if (status.ok()) return;
                                   failed = true;
                                   state.SkipWithError(status.ToString().c_str());
                                 })
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace draftmark

int main(int argc, char** argv) {
  return draftmark::Main(std::vector<std::string>(argv, argv + argc));
}
