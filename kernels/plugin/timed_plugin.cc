#include "kernels/plugin/timed_plugin.h"

#include <fmt/format.h>

#include "kernels/plugin/plugin_call.h"

namespace draftmark::plugin {
namespace {

PluginAnswer Query(const PluginOperation& operation, const OperationCase& c) {
  StatusOr<PluginCall> call = PluginCall::Create(c);
  if (!call.ok()) return {PluginResult::kUnsupported, {}, call.status().message(), 0};
  return LimitWorkspace(call->Query(operation));
}

Status Launch(const PluginOperation& operation, const OperationCase& c,
              const kernels::DeviceOperands& operands, const kernels::LaunchContext& context) {
  DM_ASSIGN_OR_RETURN(PluginCall call, PluginCall::Create(c));
  for (std::size_t i = 0; i < call.operand_count(); ++i) {
    call.Place(i, operands.Address(call.operand(i).name).value);
  }
  const PluginAnswer answer =
      call.Run(operation, context.workspace, context.workspace_bytes, context.stream);
  if (answer.ok()) return OkStatus();
  const std::string message = fmt::format("plug-in, {}: {}", c.Id(), answer.message);
  return answer.result == PluginResult::kUnsupported ? UnimplementedError(message)
                                                     : InternalError(message);
}

}  // namespace

kernels::DeviceOperation DeviceOperationOf(const PluginOperation& operation) {
  return {.name = operation.declaration->name,
          .workspace_bytes =
              [&operation](const OperationCase& c) { return Query(operation, c).workspace_bytes; },
          .launch =
              [&operation](const OperationCase& c, const kernels::DeviceOperands& operands,
                           const kernels::LaunchContext& context) {
                return Launch(operation, c, operands, context);
              }};
}

StatusOr<bool> Supports(const PluginOperation& operation, const OperationCase& c) {
  const PluginAnswer answer = Query(operation, c);
  if (answer.result == PluginResult::kFailed) {
    return InternalError(fmt::format("plug-in, query of {}: {}", c.Id(), answer.message));
  }
  return answer.ok();
}

}  // namespace draftmark::plugin
