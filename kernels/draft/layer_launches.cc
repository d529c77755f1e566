#include "kernels/draft/layer_launches.h"

#include "kernels/head_norm/head_norm.h"
#include "kernels/kv_write/kv_write.h"
#include "kernels/rms_norm/rms_norm.h"
#include "kernels/rope/rope.h"

namespace draftmark::kernels {
namespace {

LinearArgs ArgsOf(const DraftParts& parts, const LinearStep& step) {
  return {.x = step.x,
          .weight = step.weight,
          .bias = step.bias,
          .y = step.y,
          .y_stride = Signed(step.y_stride),
          .multiplier = static_cast<float>(step.multiplier),
          .softcap = static_cast<float>(step.softcap),
          .rows = Signed(step.rows),
          .n = Signed(step.n),
          .k = Signed(step.k),
          .workspace = parts.workspace.gemm,
          .workspace_bytes = parts.workspace.gemm_bytes};
}

RmsNormArgs NormOf(const DraftParts& parts, const BFloat16* x, DeviceMatrix weight,
                   std::uint64_t rows, BFloat16* y) {
  return {.x = x,
          .weight = weight,
          .epsilon = parts.epsilon(),
          .y = y,
          .rows = Signed(rows),
          .h = Signed(parts.config.hidden_size)};
}

}  // namespace

Status Linear(const DraftParts& parts, const LinearStep& step) {
  return LaunchLinear(ArgsOf(parts, step), parts.library, parts.stream);
}

Status Linears(const DraftParts& parts, const LinearStep& first, const LinearSteps& steps) {
  return LaunchLinears(ArgsOf(parts, first), steps, parts.library, parts.stream);
}

Status LinearPair(const DraftParts& parts, const LinearStep& step, DeviceMatrix second_weight,
                  DeviceMatrix second_bias, BFloat16* second_y) {
  if (parts.fast) {
    return LaunchLinearPair(ArgsOf(parts, step), second_weight, second_bias, second_y,
                            parts.library, parts.stream);
  }
  LinearStep second = step;
  second.weight = second_weight;
  second.bias = second_bias;
  second.y = second_y;
  DM_RETURN_IF_ERROR(Linear(parts, step));
  return Linear(parts, second);
}

Status Norm(const DraftParts& parts, const BFloat16* x, DeviceMatrix weight, std::uint64_t rows,
            BFloat16* y) {
  return LaunchRmsNorm(NormOf(parts, x, weight, rows, y), parts.stream);
}

Status AddAndNorm(const DraftParts& parts, BFloat16* stream, const BFloat16* delta,
                  DeviceMatrix weight, std::uint64_t rows, BFloat16* y) {
  RmsNormArgs args = NormOf(parts, stream, weight, rows, y);
  args.delta = delta;
  args.sum = delta != nullptr ? stream : nullptr;
  return LaunchRmsNorm(args, parts.stream);
}

Status NormHeads(const DraftParts& parts, BFloat16* x, DeviceMatrix weight, std::uint64_t rows,
                 std::uint64_t heads) {
  return LaunchHeadNorm({.x = x,
                         .weight = weight,
                         .epsilon = parts.epsilon(),
                         .y = x,
                         .rows = Signed(rows),
                         .heads = Signed(heads),
                         .d = Signed(parts.config.head_dim)},
                        parts.stream);
}

Status Rotate(const DraftParts& parts, BFloat16* x, const std::int32_t* positions,
              std::uint64_t rows, std::uint64_t heads) {
  return LaunchRope({.x = x,
                     .frequency = parts.workspace.rope_frequency,
                     .positions = positions,
                     .amplitude = static_cast<float>(parts.rope.amplitude),
                     .rows = Signed(rows),
                     .heads = Signed(heads),
                     .d = Signed(parts.config.head_dim),
                     .rotary = Signed(2 * parts.rope.frequency.size()),
                     .partner = Signed(parts.rope.partner)},
                    parts.stream);
}

Status WriteCache(const DraftParts& parts, std::uint64_t layer, const CacheStep& step) {
  std::int32_t* const table = layer == 0 ? parts.workspace.slot_positions : nullptr;
  return LaunchKvWrite({.k = step.k,
                        .v = step.v,
                        .slots = ReadOnly(parts.slots()),
                        .positions = table != nullptr ? step.positions : nullptr,
                        .k_pool = parts.cache.KeysOf(layer),
                        .v_pool = parts.cache.ValuesOf(layer),
                        .slot_positions = table,
                        .rows = Signed(step.rows),
                        .width = Signed(parts.config.kv_dim()),
                        .pool_slots = parts.cache.slots,
                        .v_stride = Signed(step.v_stride)},
                       parts.stream);
}

}  // namespace draftmark::kernels
