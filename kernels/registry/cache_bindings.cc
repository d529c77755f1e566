// The paged cache and the attention over it.
#include "kernels/kv_write/kv_write.h"
#include "kernels/paged_attention/paged_attention.h"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "kernels/registry/bindings.h"
#include "kernels/slot_fill/slot_fill.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {
namespace {

Status SlotFill(const OperationCase& c, const DeviceOperands& operands,
                const LaunchContext& context) {
  return LaunchSlotFill({.block_tables = operands.Get<std::uint32_t>("block_tables"),
                         .first = operands.Get<std::uint32_t>("first"),
                         .slots = operands.Get<std::int64_t>("slots"),
                         .rows = Size(c, "rows"),
                         .band = Size(c, "band"),
                         .table = Size(c, "table")},
                        context.stream);
}

Status KvWrite(const OperationCase& c, const DeviceOperands& operands,
               const LaunchContext& context) {
  return LaunchKvWrite({.k = operands.Get<BFloat16>("k"),
                        .v = operands.Get<BFloat16>("v"),
                        .slots = operands.Get<std::int64_t>("slots"),
                        .k_pool = operands.Get<BFloat16>("k_pool"),
                        .v_pool = operands.Get<BFloat16>("v_pool"),
                        .rows = Size(c, "rows"),
                        .width = Size(c, "kv") * Size(c, "d"),
                        .pool_slots = 16 * Size(c, "blocks")},
                       context.stream);
}

std::uint64_t AttentionWorkspace(const OperationCase& c) {
  return PagedAttentionTraits::WorkspaceBytes(/*bands=*/1, Size(c, "rows"), Size(c, "heads"),
                                              Size(c, "kv"), Size(c, "d"));
}

Status PagedAttention(const OperationCase& c, const DeviceOperands& operands,
                      const LaunchContext& context) {
  return LaunchPagedAttention({.q = operands.Get<BFloat16>("q"),
                               .k_pool = operands.Get<BFloat16>("k_pool"),
                               .v_pool = operands.Get<BFloat16>("v_pool"),
                               .block_tables = operands.Get<std::uint32_t>("block_table"),
                               .arguments = operands.Get<std::uint32_t>("arguments"),
                               .sinks = operands.Get<BFloat16>("sinks"),
                               .out = operands.Get<BFloat16>("out"),
                               .rows = Size(c, "rows"),
                               .heads = Size(c, "heads"),
                               .kv = Size(c, "kv"),
                               .d = Size(c, "d"),
                               .table = Size(c, "table"),
                               .window = Size(c, "window"),
                               .causal = c["causal"] == 1,
                               .workspace = context.workspace,
                               .workspace_bytes = context.workspace_bytes,
                               .generic = context.generic},
                              context.stream);
}

}  // namespace

std::vector<DeviceOperation> CacheBindings() {
  return {{"slot_fill", NoWorkspace, SlotFill},
          {"kv_write", NoWorkspace, KvWrite},
          {"paged_attention", AttentionWorkspace, PagedAttention}};
}

}  // namespace draftmark::kernels
