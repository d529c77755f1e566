// How fast the CUDA operations are at the shapes of published drafters, against what the memory of
// the same GPU can do in the same process.
//
//   bazel run //benchmarks:operations_benchmark -- --benchmark_filter=rms_norm
//   operations_benchmark --suite=compact --benchmark_out=run.json --benchmark_out_format=json
//
// Options of its own, beside those of Google Benchmark (--help):
//   --suite=all|compact  every operation at the shapes of every verified drafter of the catalogue,
//                        or some sixty of them in a few seconds (operation_shapes.h); default all
//   --cache=cold|warm    what is proved of the operands (launch_plan.h); default cold. Of warm ones
//                        the names end with /cache:warm, and shapes that do not fit fail
//   --samples=N          clean samples of each benchmark; default 30
//   --judge=on|off       whether small cases are judged by their oracle before they are timed;
//                        default on for all, off for compact, whose cases conformance judges anyway
//   --samples_out=FILE   every sample of each benchmark, a JSON line each (sample_log.h)
//   --backend=PLUGIN     times the CUDA kernels of a plug-in (kernels/plugin/README.md), at the
//                        shapes that it supports and under the same names, so that `draftmark perf
//                        gate` compares them with ours or with its own last build. All of it runs
//                        in a process of its own (contained/contained_timings.h): what crashes,
//                        exits, hangs or fails is an entry with an error, and the rest goes on
//   --time-limit=SECONDS with a plug-in: that a query, a preparation or a sample may take;
//                        default 60
//   --beside=on|off      with a plug-in: behind each entry the same shape by our kernels
//                        (/by:draftmark) and, of linear layers, by cuBLASLt (/by:cublaslt);
//                        default off
//   --catalogue=FILE     default golden/configs/drafter_configs.json of the checkout
//
// An entry of the report is one run of samples: real_time is their trimmed mean (run_value.h), so
// --benchmark_repetitions makes further runs, and --benchmark_min_time says nothing. The GPU's time
// is taken between two events around a graph of launches and divided by the launches: that leaves
// out the host's cost of a launch, and keeps in what lies between kernels of a graph. What
// surrounds a sample is in replay/timed_operation.h, what voids one in src/perf/contamination.h,
// the counters in src/perf/benchmark_counters.h. The label names the drafters that have the shape.
//
// With DRAFTMARK_ORDER_SEED in the environment the benchmarks run in that seed's order
// (src/perf/run_order.h), else in the registry's.
//
// Exit code 1: a benchmark failed (wrong results, CUDA, a plug-in); 2: the machine or the command line is
// wrong. A benchmark whose samples are void to more than a fifth is an entry with the error
// "invalid: ...", and no failure of the program.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/benchmark_context.h"
#include "benchmarks/benchmark_start.h"
#include "benchmarks/contained/contained_timings.h"
#include "benchmarks/contained/timing_service.h"
#include "benchmarks/draft_case.h"
#include "benchmarks/gemm_peak.h"
#include "benchmarks/operation_shapes.h"
#include "benchmarks/operations_options.h"
#include "benchmarks/plugin_timing.h"
#include "benchmarks/prelude.h"
#include "benchmarks/program_options.h"
#include "benchmarks/replay/replay_kit.h"
#include "benchmarks/replay/timed_operation.h"
#include "benchmarks/report_run.h"
#include "benchmarks/sample_log.h"
#include "benchmarks/watched_gpu.h"
#include "kernels/registry/device_operations.h"
#include "src/base/check.h"
#include "src/base/status.h"
#include "src/perf/benchmark_counters.h"

namespace draftmark {
namespace {

// Loading takes the first seconds of a GPU and of our kernels with it.
constexpr double kLeastLoadSeconds = 30;

void PrintHelp() {
  std::cout << OperationsHelp();
  benchmark::PrintDefaultHelp();
}

TimedOperationOptions TimingOptions(const OperationsOptions& options) {
  TimedOperationOptions timing{.cache = options.cache};
  if (!options.judge) timing.most_judged_flops = 0;
  return timing;
}

int Refuse(const Status& status) {
  std::cerr << "operations_benchmark: " << status.message() << "\n";
  return 2;
}

// A row of the report for a shape: who computes it.
struct Entry {
  std::optional<kernels::DeviceOperation> operation;  // ours; none: the plug-in's
  std::string suffix = {};                            // of the name, where several compute it
};

// Our kernels without the library where it would multiply.
kernels::DeviceOperation WithoutLibrary(const kernels::DeviceOperation& operation) {
  kernels::DeviceOperation own = operation;
  own.launch = [launch = operation.launch](const OperationCase& c,
                                           const kernels::DeviceOperands& operands,
                                           kernels::LaunchContext context) {
    context.cublaslt = nullptr;
    return launch(c, operands, context);
  };
  return own;
}

// Everything that the benchmarks of the process use. Stays where it is.
class Program {
 public:
  Program(WatchedGpu watched, std::unique_ptr<ReplayKit> kit, SampleLog log,
          OperationsOptions options)
      : watched_(std::move(watched)),
        watch_(watched_.watch),
        kit_(std::move(kit)),
        log_(std::move(log)),
        options_(std::move(options)) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // The plug-in of the command line, if it names one. What it does not support is taken out of
  // `shapes`.
  Status OpenPlugin(std::vector<OperationShape>& shapes);

  void Register(const OperationShape& shape) {
    for (Entry& entry : EntriesOf(shape.c)) {
      const std::string name = NameOf(shape, entry);
      const auto shared = std::make_shared<const Entry>(std::move(entry));
      benchmark::RegisterBenchmark(
          name.c_str(),
          [this, shape, shared](benchmark::State& state) { Measure(shape, *shared, state); })
          ->UseManualTime()
          ->Iterations(1)
          ->Unit(benchmark::kMicrosecond);
    }
  }

  // Where this process measures something.
  void Prelude(const std::vector<OperationCase>& cases) {
    if (plugin_ == nullptr || options_.beside) RunPrelude(*kit_, cases, options_.cache);
  }

  bool failed() const { return failed_; }
  Status CloseLog() { return log_status_.ok() ? log_.Close() : log_status_; }

 private:
  std::string NameOf(const OperationShape& shape, const Entry& entry) const {
    const bool warm = options_.cache == CacheState::kWarm;
    return shape.c.Id() + (warm ? "/cache:warm" : "") + entry.suffix;
  }

  // The one that is asked for first.
  std::vector<Entry> EntriesOf(const OperationCase& c) const {
    const kernels::DeviceOperation* const ours = kernels::FindDeviceOperation(c.operation->name);
    DM_CHECK(ours != nullptr);  // tested: every operation has a kernel
    if (plugin_ == nullptr) return {Entry{.operation = *ours}};
    std::vector<Entry> entries = {Entry{.operation = std::nullopt}};
    if (!options_.beside) return entries;
    if (c.operation->name == "linear") {
      entries.push_back({WithoutLibrary(*ours), "/by:draftmark"});
      entries.push_back({*ours, "/by:cublaslt"});
    } else {
      entries.push_back({*ours, "/by:draftmark"});
    }
    return entries;
  }

  StatusOr<ContainedRun> Take(const OperationCase& c, const Entry& entry) {
    const auto samples = [&](TimedWork& work) {
      return TakeSamples(work, *watched_.monitor, watch_, options_.sampling);
    };
    if (!entry.operation) {
      StatusOr<ContainedRun> run = plugin_->Measure(WorkOf(c), samples);
      TellLateFailures();
      return run;
    }
    DM_ASSIGN_OR_RETURN(
        const std::unique_ptr<TimedOperation> timed,
        TimedOperation::Create(*kit_, c, *entry.operation, TimingOptions(options_)));
    DM_ASSIGN_OR_RETURN(SampledRun run, samples(*timed));
    return ContainedRun{.facts = timed->facts(), .run = std::move(run)};
  }

  void Measure(const OperationShape& shape, const Entry& entry, benchmark::State& state) {
    const auto unasked = unasked_.find(shape.c.Id());
    const bool known = !entry.operation && unasked != unasked_.end();
    const StatusOr<ContainedRun> taken = known ? unasked->second : Take(shape.c, entry);
    state.SetLabel(shape.Label());
    if (!taken.ok()) {
      failed_ = true;
      state.SkipWithError(taken.status().message().c_str());
      return;
    }
    const TimedFacts& facts = taken->facts;
    const CallCost cost = {.bytes = facts.bytes,
                           .flops = facts.flops,
                           .copy_bytes_per_second = watched_.gpu->copy_bytes_per_second(),
                           .peak_flops_per_second = watched_.gpu->peak_flops_per_second()};
    if (!ReportRun(taken->run, cost, state)) failed_ = true;
    if (log_status_.ok()) log_status_ = log_.Add(NameOf(shape, entry), taken->run);
    if (taken->run.invalid.empty()) CountLaunches(facts, state.counters);
  }

  void CountLaunches(const TimedFacts& facts, benchmark::UserCounters& counters) const {
    const auto count = [&](const char* name, std::uint64_t value) {
      counters[name] = static_cast<double>(value);
    };
    count(kLaunchesCounter, facts.kernels);
    // A launch that allocated could not be captured into a graph.
    count(kAllocationsCounter, 0);
    count(kPeakBytesCounter, facts.peak_bytes);
    count(kColdCounter, options_.cache == CacheState::kCold ? 1 : 0);
    count(kReuseBytesCounter, facts.reuse_bytes);
    count(kTwiceL2Counter, 2 * static_cast<std::uint64_t>(watched_.gpu->info().l2_bytes));
    count(kJudgedCounter, facts.judged ? 1 : 0);
    count("launches_per_sample", facts.launches);
  }

  static TimingWork WorkOf(const OperationCase& c) {
    return {.id = c.Id(), .group = std::string(c.operation->name)};
  }

  // Of the plug-in, and failures of the run.
  void TellLateFailures() {
    for (; told_ < plugin_->late_failures().size(); ++told_) {
      std::cerr << "operations_benchmark: " << plugin_->late_failures()[told_] << "\n";
      failed_ = true;
    }
  }

  WatchedGpu watched_;
  ProcessWatch watch_;  // knows the plug-in's process as well
  GpuState before_;     // that was started
  std::unique_ptr<ReplayKit> kit_;
  SampleLog log_;
  Status log_status_;
  const OperationsOptions options_;
  std::unique_ptr<ContainedTimings> plugin_;
  std::map<std::string, Status> unasked_;  // by case: whose query failed
  std::size_t told_ = 0;                   // late failures
  bool failed_ = false;
};

Status Program::OpenPlugin(std::vector<OperationShape>& shapes) {
  if (options_.plugin.empty()) return OkStatus();
  DM_ASSIGN_OR_RETURN(
      plugin_,
      ContainedTimings::Open({.command = ServiceCommand(options_),
                              .subject = options_.plugin,
                              .seconds = options_.time_limit,
                              .load_seconds = std::max(options_.time_limit, kLeastLoadSeconds),
                              .starts = [this] { before_ = watched_.monitor->Full(); },
                              .started =
                                  [this](pid_t id) {
                                    watch_ = watched_.watch;
                                    watch_.Add(before_, watched_.monitor->Full(),
                                               static_cast<std::uint64_t>(id));
                                  }}));
  const std::size_t before = shapes.size();
  std::erase_if(shapes, [&](const OperationShape& shape) {
    const StatusOr<bool> supported = plugin_->Supports(WorkOf(shape.c));
    if (supported.ok()) return !*supported;
    // It stays, as an entry that failed.
    unasked_.emplace(shape.c.Id(), supported.status());
    return false;
  });
  TellLateFailures();
  if (shapes.empty()) {
    return UnimplementedError(options_.plugin + ": supports none of the " + std::to_string(before) +
                              " shapes");
  }
  std::cerr << options_.plugin << ": supports " << shapes.size() - unasked_.size() << " of "
            << before << " shapes";
  if (!unasked_.empty()) std::cerr << ", and fails when asked of " << unasked_.size();
  std::cerr << "\n";
  benchmark::AddCustomContext("plugin", plugin_->description());
  return OkStatus();
}

StatusOr<std::vector<OperationShape>> ShapesOf(const OperationsOptions& options) {
  DM_ASSIGN_OR_RETURN(const DrafterCatalogue catalogue, LoadDrafterCatalogue(options.catalogue));
  DM_ASSIGN_OR_RETURN(const std::vector<NamedDrafter> drafters,
                      VerifiedDrafters(catalogue.json, catalogue.path));
  return OperationShapes(drafters, options.suite);
}

// The arithmetic's roof, once a process. Nothing is judged by it, so a GPU without the room for it
// goes without.
void AddGemmContext(BenchmarkGpu& gpu) {
  if (const StatusOr<double> flops = MeasureGemmFlops(gpu); flops.ok()) {
    benchmark::AddCustomContext(kGemmContext, std::to_string(*flops));
  } else {
    std::cerr << "operations_benchmark: warning: no large matrix product: "
              << flops.status().message() << "\n";
  }
}

std::vector<OperationCase> CasesOf(const std::vector<OperationShape>& shapes,
                                   const std::vector<std::size_t>& order) {
  std::vector<OperationCase> cases;
  cases.reserve(order.size());
  for (const std::size_t at : order) cases.push_back(shapes[at].c);
  return cases;
}

// The process of the plug-in.
int Serve(const OperationsOptions& options, const std::vector<OperationShape>& shapes,
          const std::vector<std::size_t>& order) {
  TimedOperationOptions operation = TimingOptions(options);
  operation.backend = options.plugin;
  PluginTiming timing(
      {.library = options.plugin, .operation = operation, .prelude = CasesOf(shapes, order)});
  return ServeTimings(timing);
}

int Measure(const OperationsOptions& options, std::vector<OperationShape> shapes) {
  StatusOr<WatchedGpu> watched = WatchedGpu::Open();
  if (!watched.ok()) return Refuse(watched.status());
  StatusOr<SampleLog> log = SampleLog::Open(options.samples_out);
  if (!log.ok()) return Refuse(log.status());
  AddBenchmarkContext(*watched);
  AddGemmContext(*watched->gpu);
  benchmark::AddCustomContext("suite", options.suite == Suite::kAll ? "all" : "compact");
  benchmark::AddCustomContext("samples", std::to_string(options.sampling.samples));
  StatusOr<std::unique_ptr<ReplayKit>> kit = ReplayKit::Create(*watched->gpu);
  if (!kit.ok()) return Refuse(kit.status());
  Program program(*std::move(watched), *std::move(kit), *std::move(log), options);
  if (const Status opened = program.OpenPlugin(shapes); !opened.ok()) return Refuse(opened);
  const auto order = OrderOfRun(shapes.size(), std::getenv(kOrderSeedVariable));
  if (!order.ok()) return Refuse(order.status());
  for (const std::size_t at : *order) program.Register(shapes[at]);
  program.Prelude(CasesOf(shapes, *order));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  if (const Status closed = program.CloseLog(); !closed.ok()) return Refuse(closed);
  return program.failed() ? 1 : 0;
}

int Main(std::vector<std::string> arguments) {
  const StatusOr<OperationsOptions> options = TakeOperationsOptions(arguments);
  if (!options.ok()) return Refuse(options.status());
  if (!options->serve && !StartBenchmark(arguments, PrintHelp)) return 2;
  StatusOr<std::vector<OperationShape>> shapes = ShapesOf(*options);
  if (!shapes.ok()) return Refuse(shapes.status());
  // Before the machine is asked for anything.
  const auto order = OrderOfRun(shapes->size(), std::getenv(kOrderSeedVariable));
  if (!order.ok()) return Refuse(order.status());
  if (options->serve) return Serve(*options, *shapes, *order);
  return Measure(*options, *std::move(shapes));
}

}  // namespace
}  // namespace draftmark

int main(int argc, char** argv) {
  return draftmark::Main(std::vector<std::string>(argv, argv + argc));
}
