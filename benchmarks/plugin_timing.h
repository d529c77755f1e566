// PluginTiming: the CUDA operations of a plug-in as the subject of a process of timings
// (contained/timing_service.h), replayed as ours are (replay/timed_operation.h).
//
//   PluginTiming timing({.library = "./libmine.so", .prelude = cases});
//   return ServeTimings(timing);
//
// Ids of works are those of operation cases. Opening takes the first GPU, runs our kernels for the
// prelude and then loads the library. Errors: those of the GPU and of PluginLibrary;
// INVALID_ARGUMENT for a plug-in of the CPU; UNIMPLEMENTED for a GPU, or a case, that the plug-in
// does not support; those of TimedOperation.
#ifndef DRAFTMARK_BENCHMARKS_PLUGIN_TIMING_H_
#define DRAFTMARK_BENCHMARKS_PLUGIN_TIMING_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/benchmark_gpu.h"
#include "benchmarks/contained/timing_service.h"
#include "benchmarks/replay/replay_kit.h"
#include "benchmarks/replay/timed_operation.h"
#include "kernels/plugin/plugin_library.h"
#include "kernels/registry/device_operations.h"
#include "src/base/status.h"
#include "src/operations/operation.h"

namespace draftmark {

class PluginTiming final : public TimingSubject {
 public:
  struct Options {
    std::string library;
    TimedOperationOptions operation = {};
    std::vector<OperationCase> prelude = {};
  };

  explicit PluginTiming(Options options) : options_(std::move(options)) {}

  StatusOr<std::string> Open() override;
  StatusOr<bool> Supports(const std::string& id) override;
  StatusOr<TimedFacts> Prepare(const std::string& id) override;
  StatusOr<TimedSample> Sample() override;

 private:
  const Options options_;
  std::unique_ptr<BenchmarkGpu> gpu_;
  std::unique_ptr<ReplayKit> kit_;
  std::optional<plugin::PluginLibrary> library_;
  // Of the work that was prepared last; the second needs the first.
  std::optional<kernels::DeviceOperation> operation_;
  std::unique_ptr<TimedOperation> timed_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_PLUGIN_TIMING_H_
