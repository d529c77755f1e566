// How long whole drafts take on the GPU, against what their bytes would take at the copy bandwidth
// of the same GPU in the same process; and the precompute of a long context.
//
//   bazel run //benchmarks:draft_benchmark -- --benchmark_format=json
//   bazel run //benchmarks:draft_benchmark -- --draft=qwen3-4b-dflash-b16,ctx=8192,nb=4
//
// --draft=ENTRY,gamma=N,ctx=N,new=N,nb=N (any number of them) replaces the default drafts;
// --catalogue FILE is where entries are looked up (draft_case.h). --path=simple times the kernels
// that run on every architecture, without streaming chains (CudaSessionOptions::fast); the report's
// context says which path it was. --samples=N: clean samples of each benchmark, default 100;
// --samples_out=FILE: every sample, a JSON line for each benchmark (sample_log.h).
//
// A benchmark is one draft in its steady state (steady_draft.h). A sample is the graph between two
// events on a GPU that was idle before: the unit that pytorch_baseline.py times, precompute of the
// new rows, block and tail; its tokens must be those of the first propose. An entry of the report is
// one run of samples: real_time is their trimmed mean (run_value.h), so --benchmark_repetitions makes
// further runs, and --benchmark_min_time says nothing.
//
// For each drafter there is one more, named .../part:context: the precompute passes of 2048 new rows
// alone, with the copies of their inputs.
//
// Counters: those of src/perf/benchmark_counters.h, where bytes are FloorBytes (draft_cost.h) and
// floor_share is the floor at the copy bandwidth over the time; cold is 1 where a draft reads twice the
// L2 cache, so that nothing is left of the run before. Beside them, milliseconds: queued_ms, the
// median where the host is ahead, so the GPU's work without the wait for a launch; propose_ms, the
// median by the host's clock of a whole Propose, copies included. Device memory by purpose: memory_*,
// SessionMemory. device_bytes of a whole draft is the most that the device lacked since before the
// session was opened (device_high_water.h): an exact count, since each draft is opened and run once
// before it, so that its code is loaded. device_taken_bytes of the context alone is the same without
// that, and no exact count.
//
// With DRAFTMARK_ORDER_SEED in the environment the benchmarks run in that seed's order
// (src/perf/run_order.h).
//
// Exit code 1: a benchmark failed, also by other tokens than before; 2: the machine or the command
// line is wrong. Too many void samples are an entry with the error "invalid: ...", and no failure.
#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/benchmark_context.h"
#include "benchmarks/benchmark_start.h"
#include "benchmarks/device_high_water.h"
#include "benchmarks/draft_case.h"
#include "benchmarks/draft_cost.h"
#include "benchmarks/program_options.h"
#include "benchmarks/quantile.h"
#include "benchmarks/replay/replay_kit.h"
#include "benchmarks/report_run.h"
#include "benchmarks/sample_log.h"
#include "benchmarks/steady_draft.h"
#include "benchmarks/watched_gpu.h"
#include "kernels/draft/cuda_session.h"
#include "src/base/status.h"
#include "src/cuda/cuda_status.h"
#include "src/cuda/graph.h"
#include "src/perf/benchmark_counters.h"

namespace draftmark {
namespace {

// Of the two series that have no void samples and no verdict.
constexpr std::size_t kBesideRuns = 30;

enum class Part { kDraft, kContext };

// A draft, or its context, as samples.
class DraftWork final : public TimedWork {
 public:
  DraftWork(ReplayKit& kit, SteadyDraft& draft, Part part, double least_seconds)
      : kit_(kit), draft_(draft), part_(part), least_seconds_(least_seconds) {}

  StatusOr<TimedSample> Run() override {
    TimedSample sample;
    DM_ASSIGN_OR_RETURN(sample.clock_hz, kit_.ClockDuring(
                                             [&]() -> Status {
                                               DM_ASSIGN_OR_RETURN(const double milliseconds,
                                                                   RunOnce());
                                               sample.seconds = milliseconds / 1e3;
                                               return OkStatus();
                                             },
                                             draft_.stream()));
    return sample;
  }
  double LeastSeconds() const override { return least_seconds_; }

 private:
  StatusOr<double> RunOnce() {
    return part_ == Part::kDraft ? draft_.RunGraph() : draft_.RunContext();
  }

  ReplayKit& kit_;
  SteadyDraft& draft_;
  const Part part_;
  const double least_seconds_;
};

StatusOr<std::uint64_t> FreeDeviceBytes() {
  std::size_t free_bytes = 0, all_bytes = 0;
  DM_RETURN_IF_ERROR(CudaStatus(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo"));
  return std::uint64_t{free_bytes};
}

class Program {
 public:
  Program(WatchedGpu watched, std::unique_ptr<ReplayKit> kit, SampleLog log,
          const DraftCaseOptions& options)
      : watched_(std::move(watched)),
        kit_(std::move(kit)),
        log_(std::move(log)),
        samples_(options.samples) {
    session_.fast = options.fast;
  }

  void Register(const DraftCase& c, Part part) {
    benchmark::RegisterBenchmark(NameOf(c, part).c_str(),
                                 [this, &c, part](benchmark::State& state) {
                                   const Status status = Measure(c, part, state);
                                   if (status.ok()) return;
                                   failed_ = true;
                                   state.SkipWithError(status.message().c_str());
                                 })
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  }

  bool failed() const { return failed_; }
  Status CloseLog() { return log_.Close(); }

 private:
  static std::string NameOf(const DraftCase& c, Part part) {
    return c.id + (part == Part::kContext ? "/part:context" : "");
  }

  // What a draft, or its context, must read and compute.
  CallCost CostOf(const DraftCase& c, Part part) const {
    const bool whole = part == Part::kDraft;
    const std::uint64_t bytes =
        whole ? FloorBytes(c.config, c.shape).total() : ContextBytes(c.config, c.shape.new_rows);
    return {
        .bytes = static_cast<double>(bytes),
        .flops = whole ? DraftFlops(c.config, c.shape) : ContextFlops(c.config, c.shape.new_rows),
        .copy_bytes_per_second = watched_.gpu->copy_bytes_per_second(),
        .peak_flops_per_second = watched_.gpu->peak_flops_per_second()};
  }

  Status Measure(const DraftCase& c, Part part, benchmark::State& state) {
    const bool whole = part == Part::kDraft;
    if (whole) DM_RETURN_IF_ERROR(Rehearse(c));
    DM_ASSIGN_OR_RETURN(DeviceHighWater water, DeviceHighWater::Begin(FreeDeviceBytes));
    DM_ASSIGN_OR_RETURN(const std::unique_ptr<SteadyDraft> draft,
                        whole ? SteadyDraft::Open(*watched_.gpu, c, session_)
                              : SteadyDraft::OpenForContext(*watched_.gpu, c, session_));
    DM_RETURN_IF_ERROR(water.Look());
    DM_ASSIGN_OR_RETURN(const bool off, watched_.gpu->PersistingL2IsOff());
    const auto l2 = static_cast<std::uint64_t>(watched_.gpu->info().l2_bytes);
    const std::uint64_t unique =
        whole ? UniqueBytes(c.config, c.shape) : ContextBytes(c.config, c.shape.new_rows);
    const bool cold = off && l2 > 0 && unique >= 2 * l2;
    const double bandwidth = watched_.gpu->theoretical_bytes_per_second().value_or(0);
    // What the cache holds at the start, and what it has not yet written at the end.
    const double least =
        cold && bandwidth > 0 ? static_cast<double>(unique - 2 * l2) / bandwidth : 0;
    DraftWork work(*kit_, *draft, part, least);
    const std::uint64_t allocations = draft->ledger().Total(MemoryKind::kDevice).total_count;
    const StatusOr<SampledRun> run =
        TakeSamples(work, *watched_.monitor, watched_.watch, {.samples = samples_, .warm_ups = 10});
    if (!ReportRun(run, CostOf(c, part), state)) failed_ = true;
    if (run.ok()) DM_RETURN_IF_ERROR(log_.Add(NameOf(c, part), *run));
    state.SetLabel(c.id);  // the name has Google Benchmark's remarks behind it
    if (!run.ok() || !run->invalid.empty()) return OkStatus();
    benchmark::UserCounters& counters = state.counters;
    Count(counters, kColdCounter, cold ? 1 : 0);
    Count(counters, kReuseBytesCounter, unique);
    Count(counters, kTwiceL2Counter, 2 * l2);
    Count(counters, kAllocationsCounter,
          draft->ledger().Total(MemoryKind::kDevice).total_count - allocations);
    CountMemory(*draft, counters);
    if (whole) DM_RETURN_IF_ERROR(CountWhole(c, *draft, counters));
    DM_RETURN_IF_ERROR(water.Look());
    Count(counters, whole ? kDeviceBytesCounter : "device_taken_bytes", water.bytes());
    return OkStatus();
  }

  // Loads all code that the draft and its measurement use.
  Status Rehearse(const DraftCase& c) {
    DM_ASSIGN_OR_RETURN(const std::unique_ptr<SteadyDraft> draft,
                        SteadyDraft::Open(*watched_.gpu, c, session_));
    DM_RETURN_IF_ERROR(DraftWork(*kit_, *draft, Part::kDraft, 0).Run().status());
    return draft->Measure(1).status();
  }

  static void Count(benchmark::UserCounters& counters, const char* name, std::uint64_t value) {
    counters[name] = static_cast<double>(value);
  }

  static void CountMemory(const SteadyDraft& draft, benchmark::UserCounters& counters) {
    Count(counters, kPeakBytesCounter, draft.ledger().Total(MemoryKind::kDevice).peak_bytes);
    const kernels::SessionMemory memory = draft.memory();
    Count(counters, "memory_weights", memory.weights);
    Count(counters, "memory_cache", memory.cache);
    Count(counters, "memory_scratch", memory.scratch);
    Count(counters, "memory_workspace", memory.workspace);
  }

  static Status CountWhole(const DraftCase& c, SteadyDraft& draft,
                           benchmark::UserCounters& counters) {
    // All launches of a draft in its steady state are those of its graphs.
    const std::uint64_t launched = CudaGraph::KernelsLaunched();
    DM_RETURN_IF_ERROR(draft.RunGraph().status());
    Count(counters, kLaunchesCounter, CudaGraph::KernelsLaunched() - launched);
    DM_ASSIGN_OR_RETURN(const DraftTimes times, draft.Measure(kBesideRuns));
    counters["queued_ms"] = Quantile(times.queued, 0.5);
    counters["propose_ms"] = Quantile(times.propose, 0.5);
    Count(counters, "second_read_bytes", SecondReadBytes(c.config, c.shape));
    return OkStatus();
  }

  WatchedGpu watched_;
  std::unique_ptr<ReplayKit> kit_;
  SampleLog log_;
  const std::size_t samples_;
  kernels::CudaSessionOptions session_;
  bool failed_ = false;
};

void PrintHelp() {
  std::cout << "draft_benchmark [--draft=ENTRY,gamma=N,ctx=N,new=N,nb=N]...\n"
               "          what to time: an entry of the catalogue, rows of a block, of the context "
               "and new ones, blocks;\n"
               "          without it, the drafts that are compared with PyTorch\n"
               "          [--catalogue=FILE] where entries are looked up; default: "
               "golden/configs/drafter_configs.json\n"
               "          [--path=fast|simple] streaming chains where they fit, or one kernel for "
               "each step; default: fast\n"
               "          [--samples=N] clean samples of each benchmark; default: 100\n"
               "          [--samples_out=FILE] every sample of each benchmark, a JSON line each\n";
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
  if (!StartBenchmark(arguments, PrintHelp)) return 2;
  const StatusOr<std::vector<DraftCase>> cases = FindDraftCases(*options);
  if (!cases.ok()) return Refuse(cases.status());
  const std::vector<DraftCase> contexts = ContextCases(*cases);
  const auto order = OrderOfRun(cases->size() + contexts.size(), std::getenv(kOrderSeedVariable));
  if (!order.ok()) return Refuse(order.status());
  StatusOr<WatchedGpu> watched = WatchedGpu::Open();
  if (!watched.ok()) return Refuse(watched.status());
  StatusOr<SampleLog> log = SampleLog::Open(options->samples_out);
  if (!log.ok()) return Refuse(log.status());
  AddBenchmarkContext(*watched);
  benchmark::AddCustomContext("path", options->fast ? "fast" : "simple");
  benchmark::AddCustomContext("samples", std::to_string(options->samples));
  StatusOr<std::unique_ptr<ReplayKit>> kit = ReplayKit::Create(*watched->gpu);
  if (!kit.ok()) return Refuse(kit.status());
  Program program(*std::move(watched), *std::move(kit), *std::move(log), *options);
  for (const std::size_t at : *order) {
    const bool whole = at < cases->size();
    program.Register(whole ? (*cases)[at] : contexts[at - cases->size()],
                     whole ? Part::kDraft : Part::kContext);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  if (const Status closed = program.CloseLog(); !closed.ok()) return Refuse(closed);
  return program.failed() ? 1 : 0;
}

}  // namespace
}  // namespace draftmark

int main(int argc, char** argv) {
  return draftmark::Main(std::vector<std::string>(argv, argv + argc));
}
