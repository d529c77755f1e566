#include "kernels/registry/device_operations.h"

#include <fmt/format.h>

#include "kernels/registry/bindings.h"

namespace draftmark::kernels {
namespace {

std::vector<DeviceOperation> AllBindings() {
  std::vector<DeviceOperation> all;
  for (const auto bindings : {LayerBindings, CacheBindings, TokenBindings, HeadBindings}) {
    for (const DeviceOperation& operation : bindings()) all.push_back(operation);
  }
  return all;
}

StatusOr<DeviceOperands> Run(const OperationCase& c, const OperandSet& operands,
                             const DeviceContext& context) {
  const DeviceOperation* const operation = FindDeviceOperation(c.operation->name);
  if (operation == nullptr) {
    return UnimplementedError(fmt::format("operation {} has no CUDA kernel", c.operation->name));
  }
  DM_ASSIGN_OR_RETURN(
      DeviceOperands on_device,
      DeviceOperands::Upload(operands, *context.allocator, context.stream, context.placement));
  // Poisoned like everything else: a kernel that reads what it did not write meets NaN.
  DM_ASSIGN_OR_RETURN(
      const GuardedBuffer workspace,
      GuardedBuffer::Create(*context.allocator, "workspace", operation->workspace_bytes(c),
                            context.placement.guard_bytes, /*shift=*/0, context.stream));
  DM_RETURN_IF_ERROR(
      operation->launch(c, on_device,
                        {.workspace = workspace.bytes() > 0 ? workspace.address().value : nullptr,
                         .workspace_bytes = workspace.bytes(),
                         .cublaslt = context.cublaslt,
                         .stream = context.stream,
                         .generic = context.generic}));
  DM_RETURN_IF_ERROR(workspace.CheckGuards(context.stream));
  DM_RETURN_IF_ERROR(on_device.CheckUntouched(operands, context.stream));
  return on_device;
}

}  // namespace

std::span<const DeviceOperation> DeviceOperations() {
  static const std::vector<DeviceOperation> operations = AllBindings();
  return operations;
}

const DeviceOperation* FindDeviceOperation(std::string_view name) {
  for (const DeviceOperation& operation : DeviceOperations()) {
    if (operation.name == name) return &operation;
  }
  return nullptr;
}

StatusOr<OperandValues> RunOnDevice(const OperationCase& c, const OperandSet& operands,
                                    const DeviceContext& context) {
  DM_ASSIGN_OR_RETURN(const DeviceOperands on_device, Run(c, operands, context));
  return on_device.Outputs(context.stream);
}

StatusOr<OutputBytes> RunOnDeviceToBytes(const OperationCase& c, const OperandSet& operands,
                                         const DeviceContext& context) {
  DM_ASSIGN_OR_RETURN(const DeviceOperands on_device, Run(c, operands, context));
  OutputBytes bytes;
  for (const Operand& operand : operands.operands()) {
    if (operand.role == OperandRole::kInput) continue;
    DM_ASSIGN_OR_RETURN(bytes[operand.name], on_device.Download(operand.name, context.stream));
  }
  return bytes;
}

}  // namespace draftmark::kernels
