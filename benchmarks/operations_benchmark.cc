// How fast the CUDA operations are at the shapes of published drafters, against what the memory of
// the same GPU can do in the same process.
//
//   bazel run //benchmarks:operations_benchmark -- --benchmark_filter=rms_norm
//   operations_benchmark --suite=compact --benchmark_out=run.json --benchmark_out_format=json
//
// Options of its own, beside those of Google Benchmark (--help):
//   --suite=all|compact  every operation at the shapes of every verified drafter of the catalogue, or
//                        some sixty of them in a few seconds (operation_shapes.h); default all
//   --cache=cold|warm    what is proved of the operands (launch_plan.h); default cold. Of warm ones
//                        the names end with /cache:warm, and shapes that do not fit fail
//   --samples=N          clean samples of each benchmark; default 30
//   --judge=on|off       whether small cases are judged by their oracle before they are timed; default
//                        on for all, off for compact, whose cases conformance judges anyway
//   --samples_out=FILE   every sample of each benchmark, a JSON line each (sample_log.h)
//   --backend=PLUGIN     times the CUDA kernels of a plug-in (kernels/plugin/README.md), at the shapes that
//                        it supports and under the same names, so that `draftmark perf gate` compares
//                        them with ours or with its own last build
//   --beside=on|off      with a plug-in: behind each entry the same shape by our kernels (/by:draftmark)
//                        and, of linear layers, by cuBLASLt (/by:cublaslt); default off
//   --catalogue=FILE     default golden/configs/drafter_configs.json of the checkout
//
// An entry of the report is one run of samples: real_time is their trimmed mean (run_value.h), so
// --benchmark_repetitions makes further runs, and --benchmark_min_time says nothing. The GPU's time
// is taken between two events around a graph of launches and divided by the launches: that leaves out
// the host's cost of a launch, and keeps in what lies between kernels of a graph. What surrounds a
// sample is in replay/timed_operation.h, what voids one in src/perf/contamination.h, the counters in
// src/perf/benchmark_counters.h. The label names the drafters that have the shape.
//
// With DRAFTMARK_ORDER_SEED in the environment the benchmarks run in that seed's order
// (src/perf/run_order.h), else in the registry's.
//
// Exit code 1: a benchmark failed (wrong results, CUDA); 2: the machine or the command line is wrong.
// A benchmark whose samples are void to more than a fifth is an entry with the error "invalid: ...",
// and no failure of the program.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/benchmark_context.h"
#include "benchmarks/draft_case.h"
#include "benchmarks/gemm_peak.h"
#include "benchmarks/operation_shapes.h"
#include "benchmarks/program_options.h"
#include "benchmarks/replay/replay_kit.h"
#include "benchmarks/replay/timed_operation.h"
#include "benchmarks/report_run.h"
#include "benchmarks/sample_log.h"
#include "benchmarks/watched_gpu.h"
#include "kernels/plugin/plugin_library.h"
#include "kernels/plugin/timed_plugin.h"
#include "kernels/registry/device_operations.h"
#include "src/base/check.h"
#include "src/base/status.h"
#include "src/perf/benchmark_counters.h"

namespace draftmark {
namespace {

constexpr std::uint64_t kMostSamplesOption = 100000;
// Seen on an H200, in every order: the first seven benchmarks of a process are 0.3 us a kernel faster than
// anywhere else in it, also behind half a second of work, so that a small one was 10 % faster in a process
// that began with it. Why is not known. Eight are therefore run in front, and not reported.
constexpr std::size_t kPrelude = 8;
constexpr int kPreludeSamples = 5;

constexpr ProgramOption kOptions[] = {{"--suite", "all or compact"},
                                      {"--cache", "cold or warm"},
                                      {"--samples", "N"},
                                      {"--judge", "on or off"},
                                      {"--samples_out", "FILE"},
                                      {"--backend", "the path of a plug-in"},
                                      {"--beside", "on or off"},
                                      {"--catalogue", "FILE"}};

struct Options {
  Suite suite = Suite::kAll;
  SamplingOptions sampling;
  TimedOperationOptions operation;
  std::string catalogue;
  std::string samples_out;
  std::string plugin;  // empty: our own kernels
  bool beside = false;
};

StatusOr<Options> ParseOptions(std::vector<std::string>& arguments) {
  DM_ASSIGN_OR_RETURN(const std::vector<GivenOption> given, TakeOptions(arguments, kOptions));
  Options options;
  std::optional<bool> judge;
  for (const GivenOption& option : given) {
    if (option.name == "--suite") {
      DM_ASSIGN_OR_RETURN(const bool all, ParseChoiceOption(option, "all", "compact"));
      options.suite = all ? Suite::kAll : Suite::kCompact;
    } else if (option.name == "--cache") {
      DM_ASSIGN_OR_RETURN(const bool cold, ParseChoiceOption(option, "cold", "warm"));
      options.operation.cache = cold ? CacheState::kCold : CacheState::kWarm;
    } else if (option.name == "--samples") {
      DM_ASSIGN_OR_RETURN(options.sampling.samples,
                          ParseNumberOption(option, 1, kMostSamplesOption));
    } else if (option.name == "--judge") {
      DM_ASSIGN_OR_RETURN(judge, ParseChoiceOption(option, "on", "off"));
    } else if (option.name == "--samples_out") {
      options.samples_out = option.value;
    } else if (option.name == "--backend") {
      options.plugin = option.value;
    } else if (option.name == "--beside") {
      DM_ASSIGN_OR_RETURN(options.beside, ParseChoiceOption(option, "on", "off"));
    } else {
      options.catalogue = option.value;
    }
  }
  if (options.beside && options.plugin.empty()) {
    return InvalidArgumentError("--beside: only a plug-in (--backend) has others beside it");
  }
  if (!judge.value_or(options.suite == Suite::kAll)) options.operation.most_judged_flops = 0;
  return options;
}

void PrintHelp() {
  std::cout
      << "operations_benchmark [--suite=all|compact] every operation at the shapes of every "
         "verified drafter, or some\n"
         "          sixty of them in a few seconds; default: all\n"
         "          [--cache=cold|warm] what is proved of the operands; default: cold\n"
         "          [--samples=N] clean samples of each benchmark; default: 30\n"
         "          [--judge=on|off] small cases are judged by their oracle first; default: on "
         "for all, off for compact\n"
         "          [--samples_out=FILE] every sample of each benchmark, a JSON line each\n"
         "          [--backend=PLUGIN] times a plug-in's CUDA kernels; "
         "[--beside=on|off] and ours beside them\n"
         "          [--catalogue=FILE] the drafters; default: "
         "golden/configs/drafter_configs.json\n";
  benchmark::PrintDefaultHelp();
}

int Refuse(const Status& status) {
  std::cerr << "operations_benchmark: " << status.message() << "\n";
  return 2;
}

// A row of the report for a shape: who computes it.
struct Entry {
  kernels::DeviceOperation operation;
  std::string suffix;   // of the name, where several compute it
  std::string backend;  // for the report of a wrong result
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

// Everything that the benchmarks of the process use.
class Program {
 public:
  Program(WatchedGpu watched, std::unique_ptr<ReplayKit> kit, SampleLog log, Options options)
      : watched_(std::move(watched)),
        kit_(std::move(kit)),
        log_(std::move(log)),
        options_(std::move(options)) {}

  // Times the operations of a plug-in instead of ours. It must outlive the program.
  void Use(const plugin::PluginTable& table) { plugin_ = &table; }

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

  bool failed() const { return failed_; }
  Status CloseLog() { return log_status_.ok() ? log_.Close() : log_status_; }

  // Runs a benchmark without a report. What fails here fails again where it is reported.
  void RunAhead(const OperationShape& shape) {
    const std::vector<Entry> entries = EntriesOf(shape.c);
    const StatusOr<std::unique_ptr<TimedOperation>> timed = Prepare(shape.c, entries.front());
    for (int i = 0; timed.ok() && i < kPreludeSamples; ++i) {
      if (!(*timed)->Run().ok()) return;
    }
  }

 private:
  std::string NameOf(const OperationShape& shape, const Entry& entry) const {
    const bool warm = options_.operation.cache == CacheState::kWarm;
    return shape.c.Id() + (warm ? "/cache:warm" : "") + entry.suffix;
  }

  // The one that is asked for first.
  std::vector<Entry> EntriesOf(const OperationCase& c) const {
    const kernels::DeviceOperation* const ours = kernels::FindDeviceOperation(c.operation->name);
    DM_CHECK(ours != nullptr);  // tested: every operation has a kernel
    const std::string cuda = TimedOperationOptions().backend;
    if (plugin_ == nullptr) return {{*ours, "", cuda}};
    std::vector<Entry> entries = {
        {plugin::DeviceOperationOf(*plugin_->Find(c.operation->name)), "", options_.plugin}};
    if (!options_.beside) return entries;
    if (c.operation->name == "linear") {
      entries.push_back({WithoutLibrary(*ours), "/by:draftmark", cuda});
      entries.push_back({*ours, "/by:cublaslt", cuda});
    } else {
      entries.push_back({*ours, "/by:draftmark", cuda});
    }
    return entries;
  }

  // The entry must outlive the result.
  StatusOr<std::unique_ptr<TimedOperation>> Prepare(const OperationCase& c, const Entry& entry) {
    TimedOperationOptions options = options_.operation;
    options.backend = entry.backend;
    return TimedOperation::Create(*kit_, c, entry.operation, options);
  }

  void Measure(const OperationShape& shape, const Entry& entry, benchmark::State& state) {
    const StatusOr<std::unique_ptr<TimedOperation>> timed = Prepare(shape.c, entry);
    if (!timed.ok()) {
      failed_ = true;
      state.SkipWithError(timed.status().message().c_str());
      return;
    }
    const TimedOperation& operation = **timed;
    const CallCost cost = {
        .bytes = static_cast<double>(operation.traffic().read + operation.traffic().written),
        .flops = operation.flops(),
        .copy_bytes_per_second = watched_.gpu->copy_bytes_per_second(),
        .peak_flops_per_second = watched_.gpu->peak_flops_per_second()};
    const StatusOr<SampledRun> run =
        TakeSamples(**timed, *watched_.monitor, watched_.watch, options_.sampling);
    if (!ReportRun(run, cost, state)) failed_ = true;
    if (run.ok() && log_status_.ok()) log_status_ = log_.Add(NameOf(shape, entry), *run);
    state.SetLabel(shape.Label());
    if (run.ok() && run->invalid.empty()) CountLaunches(operation, state.counters);
  }

  void CountLaunches(const TimedOperation& operation, benchmark::UserCounters& counters) const {
    const auto count = [&](const char* name, std::uint64_t value) {
      counters[name] = static_cast<double>(value);
    };
    count(kLaunchesCounter, operation.kernels());
    // A launch that allocated could not be captured into a graph.
    count(kAllocationsCounter, 0);
    count(kPeakBytesCounter, operation.peak_bytes());
    count(kColdCounter, options_.operation.cache == CacheState::kCold ? 1 : 0);
    count(kReuseBytesCounter, operation.plan().reuse_bytes);
    count(kTwiceL2Counter, 2 * static_cast<std::uint64_t>(watched_.gpu->info().l2_bytes));
    count(kJudgedCounter, operation.judged() ? 1 : 0);
    count("launches_per_sample", operation.plan().launches());
  }

  WatchedGpu watched_;
  std::unique_ptr<ReplayKit> kit_;
  SampleLog log_;
  Status log_status_;
  const Options options_;
  const plugin::PluginTable* plugin_ = nullptr;
  bool failed_ = false;
};

// The plug-in of the command line, if it names one. What it does not support is taken out of `shapes`.
StatusOr<std::optional<plugin::PluginLibrary>> LoadPlugin(const Options& options,
                                                          const DeviceInfo& device,
                                                          std::vector<OperationShape>& shapes) {
  if (options.plugin.empty()) return std::optional<plugin::PluginLibrary>();
  DM_ASSIGN_OR_RETURN(plugin::PluginLibrary library, plugin::PluginLibrary::Load(options.plugin));
  const plugin::PluginTable& table = library.table();
  if (table.device != plugin::PluginDevice::kCuda) {
    return InvalidArgumentError(options.plugin + ": computes on the CPU; this program times CUDA");
  }
  const int architecture = 10 * device.compute_major + device.compute_minor;
  DM_RETURN_IF_ERROR(CheckArchitecture(table, static_cast<std::uint32_t>(architecture)));
  const std::size_t before = shapes.size();
  std::erase_if(shapes, [&](const OperationShape& shape) {
    const plugin::PluginOperation* const operation = table.Find(shape.c.operation->name);
    return operation == nullptr || !plugin::Supports(*operation, shape.c);
  });
  if (shapes.empty()) {
    return UnimplementedError(options.plugin + ": supports none of the " + std::to_string(before) +
                              " shapes");
  }
  std::cerr << options.plugin << ": supports " << shapes.size() << " of " << before << " shapes\n";
  benchmark::AddCustomContext("plugin", table.Describe());
  return std::optional<plugin::PluginLibrary>(std::move(library));
}

StatusOr<std::vector<OperationShape>> ShapesOf(const Options& options) {
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

int Main(std::vector<std::string> arguments) {
  const StatusOr<Options> options = ParseOptions(arguments);
  if (!options.ok()) return Refuse(options.status());
  KeepOrder(std::getenv(kOrderSeedVariable), arguments);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  benchmark::Initialize(&argc, argv.data(), PrintHelp);
  if (benchmark::ReportUnrecognizedArguments(argc, argv.data())) return 2;
  StatusOr<std::vector<OperationShape>> shapes = ShapesOf(*options);
  if (!shapes.ok()) return Refuse(shapes.status());
  // Before the machine is asked for anything.
  if (const auto valid = OrderOfRun(0, std::getenv(kOrderSeedVariable)); !valid.ok()) {
    return Refuse(valid.status());
  }
  StatusOr<WatchedGpu> watched = WatchedGpu::Open();
  if (!watched.ok()) return Refuse(watched.status());
  StatusOr<SampleLog> log = SampleLog::Open(options->samples_out);
  if (!log.ok()) return Refuse(log.status());
  const auto plugin = LoadPlugin(*options, watched->gpu->info(), *shapes);
  if (!plugin.ok()) return Refuse(plugin.status());
  const auto order = OrderOfRun(shapes->size(), std::getenv(kOrderSeedVariable));
  if (!order.ok()) return Refuse(order.status());
  AddBenchmarkContext(*watched);
  AddGemmContext(*watched->gpu);
  benchmark::AddCustomContext("suite", options->suite == Suite::kAll ? "all" : "compact");
  benchmark::AddCustomContext("samples", std::to_string(options->sampling.samples));
  StatusOr<std::unique_ptr<ReplayKit>> kit = ReplayKit::Create(*watched->gpu);
  if (!kit.ok()) return Refuse(kit.status());
  Program program(*std::move(watched), *std::move(kit), *std::move(log), *options);
  if (plugin->has_value()) program.Use((*plugin)->table());
  for (const std::size_t at : *order) program.Register((*shapes)[at]);
  for (std::size_t i = 0; i < std::min(kPrelude, order->size()); ++i) {
    program.RunAhead((*shapes)[(*order)[i]]);
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
