#include "benchmarks/plugin_timing.h"

#include <cstdint>

#include "benchmarks/prelude.h"
#include "kernels/plugin/timed_plugin.h"
#include "src/operations/registry.h"

namespace draftmark {

StatusOr<std::string> PluginTiming::Open() {
  DM_ASSIGN_OR_RETURN(gpu_, BenchmarkGpu::Create());
  DM_ASSIGN_OR_RETURN(kit_, ReplayKit::Create(*gpu_));
  RunPrelude(*kit_, options_.prelude, options_.operation.cache);
  DM_ASSIGN_OR_RETURN(library_, plugin::PluginLibrary::Load(options_.library));
  const plugin::PluginTable& table = library_->table();
  if (table.device != plugin::PluginDevice::kCuda) {
    return InvalidArgumentError(options_.library +
                                ": computes on the CPU; this program times CUDA");
  }
  const int architecture = 10 * gpu_->info().compute_major + gpu_->info().compute_minor;
  DM_RETURN_IF_ERROR(CheckArchitecture(table, static_cast<std::uint32_t>(architecture)));
  return table.Describe();
}

StatusOr<bool> PluginTiming::Supports(const std::string& id) {
  DM_ASSIGN_OR_RETURN(const OperationCase c, FindCase(id));
  const plugin::PluginOperation* const operation = library_->table().Find(c.operation->name);
  if (operation == nullptr) return false;
  return plugin::Supports(*operation, c);
}

StatusOr<TimedFacts> PluginTiming::Prepare(const std::string& id) {
  timed_.reset();
  DM_ASSIGN_OR_RETURN(const OperationCase c, FindCase(id));
  const plugin::PluginOperation* const operation = library_->table().Find(c.operation->name);
  if (operation == nullptr) return UnimplementedError(id + ": the plug-in has no such operation");
  DM_ASSIGN_OR_RETURN(const bool supported, plugin::Supports(*operation, c));
  if (!supported) return UnimplementedError(id + ": the plug-in does not support it");
  operation_ = plugin::DeviceOperationOf(*operation);
  DM_ASSIGN_OR_RETURN(timed_, TimedOperation::Create(*kit_, c, *operation_, options_.operation));
  return timed_->facts();
}

StatusOr<TimedSample> PluginTiming::Sample() {
  if (timed_ == nullptr) return FailedPreconditionError("nothing was prepared");
  return timed_->Run();
}

}  // namespace draftmark
