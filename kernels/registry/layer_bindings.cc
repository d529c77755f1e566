// Projections, norms, rotary embedding, elementwise operations and convolutions.
#include "kernels/conv/conv.h"
#include "kernels/embed/embed.h"
#include "kernels/head_norm/head_norm.h"
#include "kernels/kv_split/kv_split.h"
#include "kernels/linear/linear.h"
#include "kernels/linear/linear_traits.h"
#include "kernels/registry/bindings.h"
#include "kernels/residual_add/residual_add.h"
#include "kernels/rms_norm/rms_norm.h"
#include "kernels/rope/rope.h"
#include "kernels/row_gather/row_gather.h"
#include "kernels/silu_mul/silu_mul.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {
namespace {

Status Embed(const OperationCase& c, const DeviceOperands& operands, const LaunchContext& context) {
  return LaunchEmbed({.ids = operands.Get<std::uint32_t>("ids"),
                      .table = operands.Get<BFloat16>("table"),
                      .mask_embedding = operands.Get<BFloat16>("mask_embedding"),
                      .mask_token = static_cast<std::uint32_t>(c["v"] - 1),
                      .scale = Scalar(c, "scale"),
                      .out = operands.Get<BFloat16>("out"),
                      .rows = Size(c, "rows"),
                      .vocabulary = Size(c, "v"),
                      .h = Size(c, "h")},
                     context.stream);
}

Status RowGather(const OperationCase& c, const DeviceOperands& operands,
                 const LaunchContext& context) {
  return LaunchRowGather({.index = operands.Get<std::uint32_t>("index"),
                          .table = operands.Get<BFloat16>("table"),
                          .out = operands.Get<BFloat16>("out"),
                          .rows = Size(c, "rows"),
                          .from = Size(c, "from"),
                          .width = Size(c, "width")},
                         context.stream);
}

std::uint64_t LinearWorkspace(const OperationCase& c) {
  return LinearTraits::WorkspaceBytes(Size(c, "rows"), Size(c, "n"), c["cap"] == 1);
}

Status Linear(const OperationCase& c, const DeviceOperands& operands,
              const LaunchContext& context) {
  const bool cap = c["cap"] == 1;
  return LaunchLinear({.x = operands.Get<BFloat16>("x"),
                       .weight = operands.Get<BFloat16>("weight"),
                       .bias = operands.Get<BFloat16>("bias"),
                       .y = operands.Get<BFloat16>("y"),
                       .multiplier = cap ? Scalar(c, "multiplier") : 1,
                       .softcap = cap ? Scalar(c, "softcap") : 0,
                       .rows = Size(c, "rows"),
                       .n = Size(c, "n"),
                       .k = Size(c, "k"),
                       .workspace = context.workspace,
                       .workspace_bytes = context.workspace_bytes},
                      context.cublaslt, context.stream);
}

Status KvSplit(const OperationCase& c, const DeviceOperands& operands,
               const LaunchContext& context) {
  return LaunchKvSplit({.fused = operands.Get<BFloat16>("fused"),
                        .k = operands.Get<BFloat16>("k"),
                        .v = operands.Get<BFloat16>("v"),
                        .rows = Size(c, "rows"),
                        .layers = Size(c, "layers"),
                        .width = Size(c, "kv")},
                       context.stream);
}

Status RmsNorm(const OperationCase& c, const DeviceOperands& operands,
               const LaunchContext& context) {
  return LaunchRmsNorm({.x = operands.Get<BFloat16>("x"),
                        .weight = operands.Get<BFloat16>("weight"),
                        .epsilon = Scalar(c, "epsilon"),
                        .y = operands.Get<BFloat16>("y"),
                        .rows = Size(c, "rows"),
                        .h = Size(c, "h")},
                       context.stream);
}

Status HeadNorm(const OperationCase& c, const DeviceOperands& operands,
                const LaunchContext& context) {
  return LaunchHeadNorm({.x = operands.Get<BFloat16>("x"),
                         .weight = operands.Get<BFloat16>("weight"),
                         .epsilon = Scalar(c, "epsilon"),
                         .y = operands.Get<BFloat16>("y"),
                         .rows = Size(c, "rows"),
                         .heads = Size(c, "heads"),
                         .d = Size(c, "d")},
                        context.stream);
}

Status Rope(const OperationCase& c, const DeviceOperands& operands, const LaunchContext& context) {
  return LaunchRope({.x = operands.Get<BFloat16>("x"),
                     .frequency = operands.Get<float>("frequency"),
                     .positions = operands.Get<std::int32_t>("positions"),
                     .amplitude = Scalar(c, "amplitude"),
                     .rows = Size(c, "rows"),
                     .heads = Size(c, "heads"),
                     .d = Size(c, "d"),
                     .rotary = Size(c, "rotary"),
                     .partner = (c["half_head"] == 1 ? Size(c, "d") : Size(c, "rotary")) / 2},
                    context.stream);
}

Status SiluMul(const OperationCase& c, const DeviceOperands& operands,
               const LaunchContext& context) {
  return LaunchSiluMul({.gate = operands.Get<BFloat16>("gate"),
                        .up = operands.Get<BFloat16>("up"),
                        .rows = Size(c, "rows"),
                        .width = Size(c, "width")},
                       context.stream);
}

Status ResidualAdd(const OperationCase& c, const DeviceOperands& operands,
                   const LaunchContext& context) {
  return LaunchResidualAdd({.x = operands.Get<BFloat16>("x"),
                            .delta = operands.Get<BFloat16>("delta"),
                            .rows = Size(c, "rows"),
                            .width = Size(c, "width")},
                           context.stream);
}

template <ConvSide side>
Status Conv(const OperationCase& c, const DeviceOperands& operands, const LaunchContext& context) {
  return LaunchConv({.side = side,
                     .x = operands.Get<BFloat16>("x"),
                     .dynamic = operands.Get<BFloat16>("dynamic"),
                     .base = operands.Get<BFloat16>("base"),
                     .out = operands.Get<BFloat16>("out"),
                     .rows = Size(c, "rows"),
                     .h = Size(c, "h"),
                     .taps = Size(c, "taps"),
                     .group = Size(c, "group"),
                     .band = Size(c, "band")},
                    context.stream);
}

}  // namespace

std::vector<DeviceOperation> LayerBindings() {
  return {{"embed", NoWorkspace, Embed},
          {"row_gather", NoWorkspace, RowGather},
          {"linear", LinearWorkspace, Linear},
          {"kv_split", NoWorkspace, KvSplit},
          {"rms_norm", NoWorkspace, RmsNorm},
          {"head_norm", NoWorkspace, HeadNorm},
          {"rope", NoWorkspace, Rope},
          {"silu_mul", NoWorkspace, SiluMul},
          {"residual_add", NoWorkspace, ResidualAdd},
          {"conv_prepare", NoWorkspace, Conv<ConvSide::kPrepare>},
          {"conv_finish", NoWorkspace, Conv<ConvSide::kFinish>}};
}

}  // namespace draftmark::kernels
