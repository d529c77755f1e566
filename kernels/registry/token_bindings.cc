// From logits to tokens.
#include "kernels/argmax/argmax.h"
#include "kernels/argmax/argmax_traits.h"
#include "kernels/registry/bindings.h"
#include "kernels/selector_walk/selector_walk.h"
#include "kernels/top16/top16.h"
#include "kernels/top16/top16_traits.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {
namespace {

std::uint64_t ArgmaxWorkspace(const OperationCase& c) {
  return ArgmaxTraits::WorkspaceBytes(Size(c, "rows"), Size(c, "v"));
}

Status Argmax(const OperationCase& c, const DeviceOperands& operands,
              const LaunchContext& context) {
  return LaunchArgmax({.logits = operands.Get<BFloat16>("logits"),
                       .tokens = operands.Get<std::uint32_t>("tokens"),
                       .rows = Size(c, "rows"),
                       .v = Size(c, "v"),
                       .workspace = context.workspace,
                       .workspace_bytes = context.workspace_bytes},
                      context.stream);
}

std::uint64_t Top16Workspace(const OperationCase& c) {
  return Top16Traits::WorkspaceBytes(Size(c, "rows"), Size(c, "v"));
}

Status Top16(const OperationCase& c, const DeviceOperands& operands, const LaunchContext& context) {
  return LaunchTop16({.logits = operands.Get<BFloat16>("logits"),
                      .values = operands.Get<float>("values"),
                      .ids = operands.Get<std::uint32_t>("ids"),
                      .rows = Size(c, "rows"),
                      .v = Size(c, "v"),
                      .workspace = context.workspace,
                      .workspace_bytes = context.workspace_bytes},
                     context.stream);
}

Status SelectorWalk(const OperationCase& c, const DeviceOperands& operands,
                    const LaunchContext& context) {
  return LaunchSelectorWalk({.values = operands.Get<float>("values"),
                             .ids = operands.Get<std::uint32_t>("ids"),
                             .hidden = operands.Get<BFloat16>("hidden"),
                             .anchors = operands.Get<std::uint32_t>("anchors"),
                             .predecessor = operands.Get<BFloat16>("predecessor"),
                             .successor = operands.Get<BFloat16>("successor"),
                             .tokens = operands.Get<std::uint32_t>("tokens"),
                             .scores = operands.Get<float>("scores"),
                             .rows = Size(c, "rows"),
                             .band = Size(c, "band"),
                             .v = Size(c, "v"),
                             .r = Size(c, "r")},
                            context.stream);
}

}  // namespace

std::vector<DeviceOperation> TokenBindings() {
  return {{"argmax", ArgmaxWorkspace, Argmax},
          {"top16", Top16Workspace, Top16},
          {"selector_walk", NoWorkspace, SelectorWalk}};
}

}  // namespace draftmark::kernels
