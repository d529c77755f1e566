#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/plugin/plugin_runner.h"
#include "kernels/registry/device_operands.h"
#include "src/cuda/cuda_allocator.h"
#include "src/cuda/cuda_status.h"
#include "src/cuda/device.h"
#include "src/cuda/stream.h"

namespace draftmark::plugin {
namespace {

// DeviceOperands and GuardedBuffer say of memory that a kernel must not touch what was done to it; all else
// is what CUDA answered.
PluginAnswer Told(const Status& status) {
  const std::string& message = status.message();
  const bool input = message.find("operand that it reads") != std::string::npos;
  if (!input && message.find("a kernel wrote beside") == std::string::npos) {
    return FailedAnswer("device error", message);
  }
  return FailedAnswer(input ? "changed an input" : "wrote outside", message);
}

class CudaRunner final : public PluginRunner {
 public:
  CudaRunner(DeviceInfo device, CudaStream stream)
      : device_(std::move(device)), stream_(std::move(stream)) {}

  std::string device() const override { return device_.Describe(); }
  std::string arch() const override {
    return fmt::format("sm_{}{}", device_.compute_major, device_.compute_minor);
  }
  bool workspace_in_memory() const override { return false; }

  PluginAnswer Run(const PluginOperation& operation, const OperationCase& c,
                   std::span<std::byte> memory, const Regions& regions,
                   std::uint64_t workspace_bytes) override {
    StatusOr<PluginCall> call = PluginCall::Create(c);
    if (!call.ok()) return FailedAnswer("failed", call.status().message());
    OperandSet operands;
    std::size_t next = 0;
    for (const OperandSpec& spec : c.operation->operands) {
      if (!OperandExists(spec, c.keys)) continue;
      const Region& region = regions.list[next++];
      const std::span<std::byte> bytes = memory.subspan(region.offset, region.bytes);
      operands.Add({std::string(spec.name),
                    spec.dtype,
                    spec.role,
                    OperandShape(spec, c.keys).value(),
                    {bytes.begin(), bytes.end()}});
    }
    return RunOnDevice(operation, operands, memory, regions, workspace_bytes, *call);
  }

  Status Download(const void* device_memory, std::span<std::byte> bytes) override {
    DM_RETURN_IF_ERROR(SynchronizeDevice());
    return CudaStatus(cudaMemcpy(bytes.data(), device_memory, bytes.size(), cudaMemcpyDeviceToHost),
                      "cudaMemcpy of a stage");
  }

 private:
  PluginAnswer RunOnDevice(const PluginOperation& operation, const OperandSet& operands,
                           std::span<std::byte> memory, const Regions& regions,
                           std::uint64_t workspace_bytes, PluginCall& call) {
    const cudaStream_t stream = stream_.get();
    const auto on_device = kernels::DeviceOperands::Upload(operands, allocator_, stream, {});
    if (!on_device.ok()) return FailedAnswer("device error", on_device.status().message());
    // Poisoned like everything else: a kernel that reads what it did not write meets NaN.
    const auto workspace = kernels::GuardedBuffer::Create(
        allocator_, "workspace", workspace_bytes, kernels::Placement().guard_bytes, 0, stream);
    if (!workspace.ok()) return FailedAnswer("device error", workspace.status().message());
    for (std::size_t i = 0; i < call.operand_count(); ++i) {
      call.Place(i, on_device->Address(call.operand(i).name).value);
    }
    PluginAnswer answer = call.Run(operation, workspace->address().value, workspace_bytes, stream);
    if (!answer.ok()) return answer;
    // Work on other streams shows up as well.
    if (const Status done = SynchronizeDevice(); !done.ok()) {
      return FailedAnswer("device error", done.message());
    }
    if (const Status guards = workspace->CheckGuards(stream); !guards.ok()) return Told(guards);
    if (const Status same = on_device->CheckUntouched(operands, stream); !same.ok()) {
      return Told(same);
    }
    for (std::size_t i = 0; i < call.operand_count(); ++i) {
      if (call.operand(i).role == DRAFTMARK_INPUT) continue;
      const auto bytes = on_device->Download(call.operand(i).name, stream);
      if (!bytes.ok()) return FailedAnswer("device error", bytes.status().message());
      std::copy(bytes->begin(), bytes->end(), memory.data() + regions.list[i].offset);
    }
    return answer;
  }

  const DeviceInfo device_;
  CudaAllocator allocator_;
  CudaStream stream_;
};

}  // namespace

StatusOr<std::unique_ptr<PluginRunner>> OpenCudaRunner(const PluginTable& table) {
  DM_ASSIGN_OR_RETURN(const std::vector<DeviceInfo> devices, ListDevices());
  const DeviceInfo& device = devices.front();
  DM_RETURN_IF_ERROR(CheckArchitecture(
      table, static_cast<std::uint32_t>(10 * device.compute_major + device.compute_minor)));
  DM_ASSIGN_OR_RETURN(CudaStream stream, CudaStream::Create());
  return std::unique_ptr<PluginRunner>(std::make_unique<CudaRunner>(device, std::move(stream)));
}

}  // namespace draftmark::plugin
