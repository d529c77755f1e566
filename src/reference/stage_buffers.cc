#include "src/reference/stage_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "src/base/checked.h"
#include "src/faults/fault.h"
#include "src/scratch/host_event_source.h"

namespace draftmark::reference {

template <typename N>
StatusOr<std::unique_ptr<StageStorage<N>>> StageStorage<N>::Create(
    const DflashScratchLayout& layout, Poison poison, Allocator* allocator) {
  std::unique_ptr<StageStorage> storage(new StageStorage(poison, allocator));
  storage->events_ = std::make_unique<HostEventSource>();
  // Wide K and V only make passes shorter; the session asks for their length.
  DM_ASSIGN_OR_RETURN(storage->memory_,
                      DflashScratchMemory::Create(layout, storage->allocator_, *storage->events_,
                                                  {.allow_short_precompute = true}));
  DM_RETURN_IF_ERROR(storage->Bind());
  return storage;
}

template <typename N>
StageStorage<N>::~StageStorage() {
  if (DM_FAULT(kLeakedAllocation) && !own_.empty()) own_.pop_back();
  for (const DeviceAddress address : own_) (void)allocator_.Free(address);
}

template <typename N>
Status StageStorage<N>::Bind() {
  const DflashScratch& scratch = memory_->scratch();
  const DflashScratchLayout& layout = memory_->layout();
  Status status;
  // Where N stores wider than the field does, the field gets a float64 twin of as many elements.
  const auto bind = [&](std::string_view name, DeviceAddress field, auto*& pointer) {
    using Element = std::remove_reference_t<decltype(*pointer)>;
    if (field.is_null() || !status.ok()) return;
    const DflashFieldLayout& entry = layout.Field(name);
    const std::uint64_t element_bytes = DTypeBits(entry.dtype) / 8;
    if (sizeof(Element) == element_bytes) {
      pointer = static_cast<Element*>(field.value);
      return;
    }
    AllocationRequest request;
    request.bytes = entry.bytes / element_bytes * sizeof(Element);
    request.alignment = alignof(Element);
    request.tag = name;
    own_.reserve(own_.size() + 1);  // before there is something to lose
    const StatusOr<DeviceAddress> twin = allocator_.Allocate(request);
    if (!twin.ok()) {
      status = twin.status();
      return;
    }
    own_.push_back(*twin);
    pointer = static_cast<Element*>(twin->value);
  };
  StageBuffers<N>& b = buffers_;
  bind("stream_buf", scratch.stream_buf, b.stream_buf);
  bind("norm_buf", scratch.norm_buf, b.norm_buf);
  bind("q_buf", scratch.q_buf, b.q_buf);
  bind("k_buf", scratch.k_buf, b.k_buf);
  bind("v_buf", scratch.v_buf, b.v_buf);
  bind("attn_out", scratch.attn_out, b.attn_out);
  bind("mlp_intermediate", scratch.mlp_intermediate, b.mlp_intermediate);
  bind("mlp_up", scratch.mlp_up, b.mlp_up);
  bind("stream_acc", scratch.stream_acc, b.stream_acc);
  bind("fc_proj", scratch.fc_proj, b.fc_proj);
  bind("fused_kv_out", scratch.fused_kv_out, b.fused_kv_out);
  if (layout.version() >= 2) bind("precompute_in", scratch.precompute_in, b.precompute_in);
  bind("logits", scratch.logits, b.logits);
  bind("markov_embed", scratch.markov_embed, b.markov_embed);
  bind("markov_bias", scratch.markov_bias, b.markov_bias);
  bind("conf_out", scratch.conf_out, b.conf_out);
  bind("conv_dyn", scratch.conv_dyn, b.conv_dyn);
  bind("conv_tmp", scratch.conv_tmp, b.conv_tmp);
  bind("sel_vals", scratch.sel_vals, b.sel_vals);
  bind("sel_idx", scratch.sel_idx, b.sel_idx);
  bind("sel_hproj", scratch.sel_hproj, b.sel_hproj);
  bind("draft_tokens_dev", scratch.draft_tokens_dev, b.draft_tokens_dev);
  bind("position_ids", scratch.position_ids, b.position_ids);
  bind("option_b_indirect_args_dev", scratch.option_b_indirect_args_dev, b.arguments);
  b.argument_words = layout.argument_words();
  if (layout.Field("slot_mapping_dev").dtype == DType::kI32) {
    bind("slot_mapping_dev", scratch.slot_mapping_dev, b.slots32);
  } else {
    bind("slot_mapping_dev", scratch.slot_mapping_dev, b.slots64);
  }
  return status;
}

template <typename N>
StatusOr<PagedCache<typename N::Storage>> StageStorage<N>::AllocateCache(std::uint64_t layers,
                                                                         std::uint64_t blocks,
                                                                         std::uint64_t row_width) {
  using Storage = typename N::Storage;
  const CheckedU64 bytes =
      CheckedU64(layers) * blocks * kCacheBlockRows * row_width * sizeof(Storage);
  if (!bytes.ok()) {
    return OutOfRangeError(
        fmt::format("kv_pool: {} layers of {} blocks exceed all memory", layers, blocks));
  }
  Storage* pools[2];
  for (int i = 0; i < 2; ++i) {
    AllocationRequest request;
    request.bytes = bytes.value();
    request.alignment = alignof(Storage);
    request.tag = i == 0 ? "kv_pool_k" : "kv_pool_v";
    own_.reserve(own_.size() + 1);
    DM_ASSIGN_OR_RETURN(const DeviceAddress pool, allocator_.Allocate(request));
    own_.push_back(pool);
    pools[i] = static_cast<Storage*>(pool.value);
  }
  return PagedCache<Storage>(layers, blocks, row_width, pools[0], pools[1]);
}

template <typename N>
StatusOr<std::vector<std::uint32_t>> StageStorage<N>::FetchTokens(std::size_t count) {
  if (count == 0) return std::vector<std::uint32_t>();  // whose data() memcpy does not take
  if (DM_FAULT(kSteadyStateAllocation)) {
    DM_ASSIGN_OR_RETURN(const DeviceAddress staging,
                        allocator_.Allocate({.bytes = count * 4, .tag = "staging"}));
    DM_RETURN_IF_ERROR(allocator_.Free(staging));
  }
  const DflashScratch& scratch = memory_->scratch();
  std::uint8_t* const pinned = scratch.draft_tokens_host_pinned.load(std::memory_order_relaxed);
  std::memcpy(pinned, buffers_.draft_tokens_dev, count * sizeof(std::uint32_t));
  DM_RETURN_IF_ERROR(events_->Record(scratch.draft_tokens_event, {}));
  DM_RETURN_IF_ERROR(events_->Wait(scratch.draft_tokens_event));
  std::vector<std::uint32_t> tokens(count);
  std::memcpy(tokens.data(), pinned, count * sizeof(std::uint32_t));
  return tokens;
}

template class StageStorage<ExactNumeric>;
template class StageStorage<Bf16Numeric>;

}  // namespace draftmark::reference
