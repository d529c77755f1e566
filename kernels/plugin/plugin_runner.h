// PluginRunner: runs a case of a plug-in's operation on the device that the plug-in computes on. In
// the plug-in's process.
//
//   DM_ASSIGN_OR_RETURN(const auto runner, OpenRunner(table));
//   const PluginAnswer answer = runner->Run(operation, c, memory, regions, workspace_bytes);
//
// Operands come and go in host memory, which the other process checks. On the CPU the plug-in works
// there; on CUDA on copies between guard bands in device memory, which are checked here. One thread
// at a time.
#ifndef DRAFTMARK_KERNELS_PLUGIN_PLUGIN_RUNNER_H_
#define DRAFTMARK_KERNELS_PLUGIN_PLUGIN_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/plugin/plugin_call.h"
#include "kernels/plugin/plugin_table.h"
#include "kernels/plugin/shared_memory.h"
#include "src/base/status.h"
#include "src/operations/operation.h"

namespace draftmark::plugin {

class PluginRunner {
 public:
  virtual ~PluginRunner() = default;

  // In words; empty on the CPU. "sm_90", "cpu".
  virtual std::string device() const = 0;
  virtual std::string arch() const = 0;
  // Whether a region for the workspace is wanted behind those of the operands.
  virtual bool workspace_in_memory() const = 0;
  virtual PluginAnswer Run(const PluginOperation& operation, const OperationCase& c,
                           std::span<std::byte> memory, const Regions& regions,
                           std::uint64_t workspace_bytes) = 0;
  // `bytes` of device memory, once all work that was put on the device is done.
  virtual Status Download(const void* device_memory, std::span<std::byte> bytes) = 0;
};

std::unique_ptr<PluginRunner> OpenCpuRunner();
// The first GPU. UNAVAILABLE without one, or in a program built without CUDA; UNIMPLEMENTED if the
// plug-in lists architectures and the GPU's is not among them.
StatusOr<std::unique_ptr<PluginRunner>> OpenCudaRunner(const PluginTable& table);

StatusOr<std::unique_ptr<PluginRunner>> OpenRunner(const PluginTable& table);

}  // namespace draftmark::plugin

#endif  // DRAFTMARK_KERNELS_PLUGIN_PLUGIN_RUNNER_H_
