#include "kernels/plugin/plugin_runner.h"

#include "src/base/check.h"

namespace draftmark::plugin {
namespace {

class CpuRunner final : public PluginRunner {
 public:
  std::string device() const override { return ""; }
  std::string arch() const override { return "cpu"; }
  bool workspace_in_memory() const override { return true; }

  PluginAnswer Run(const PluginOperation& operation, const OperationCase& c,
                   std::span<std::byte> memory, const Regions& regions,
                   std::uint64_t workspace_bytes) override {
    StatusOr<PluginCall> call = PluginCall::Create(c);
    if (!call.ok()) return FailedAnswer("failed", call.status().message());
    const std::size_t count = call->operand_count();
    DM_CHECK(regions.list.size() == count + 1);
    for (std::size_t i = 0; i < count; ++i) {
      call->Place(i, memory.data() + regions.list[i].offset);
    }
    return call->Run(operation, memory.data() + regions.list[count].offset, workspace_bytes,
                     /*stream=*/nullptr);
  }

  Status Download(const void* /*device_memory*/, std::span<std::byte> /*bytes*/) override {
    return InvalidArgumentError("memory of a CUDA device, from a plug-in that computes on the CPU");
  }
};

}  // namespace

std::unique_ptr<PluginRunner> OpenCpuRunner() { return std::make_unique<CpuRunner>(); }

StatusOr<std::unique_ptr<PluginRunner>> OpenRunner(const PluginTable& table) {
  if (table.device == PluginDevice::kCuda) return OpenCudaRunner(table);
  return OpenCpuRunner();
}

}  // namespace draftmark::plugin
