// The memory a forward works in: the fields of a DflashScratch, at BF16 or widened to float64.
//
// In bf16 the buffers are the scratch itself, so that data flow, borrowing and lifetimes are those
// of a GPU. In exact the same fields exist with every BF16 or F32 element widened to float64;
// integer fields, the pinned buffer and the event are the scratch's own. Rules of who may use what
// when: spec/dflash_scratch.md sections 1, 2 and 5.
#ifndef DRAFTMARK_SRC_REFERENCE_STAGE_BUFFERS_H_
#define DRAFTMARK_SRC_REFERENCE_STAGE_BUFFERS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/faults/fault.h"
#include "src/reference/numeric.h"
#include "src/reference/paged_cache.h"
#include "src/scratch/allocator.h"
#include "src/scratch/dflash_layout.h"
#include "src/scratch/dflash_scratch.h"
#include "src/scratch/event_source.h"
#include "src/scratch/host_allocator.h"
#include "src/scratch/poison.h"

namespace draftmark::reference {

// Host addresses under the scratch's names; null where the field is.
template <typename N>
struct StageBuffers {
  using Storage = typename N::Storage;

  Storage* stream_buf = nullptr;
  Storage* norm_buf = nullptr;
  Storage* q_buf = nullptr;
  Storage* k_buf = nullptr;
  Storage* v_buf = nullptr;
  Storage* attn_out = nullptr;
  Storage* mlp_intermediate = nullptr;
  Storage* mlp_up = nullptr;
  Storage* stream_acc = nullptr;
  Storage* fc_proj = nullptr;
  Storage* fused_kv_out = nullptr;
  Storage* precompute_in = nullptr;  // version 2
  Storage* logits = nullptr;
  Storage* markov_embed = nullptr;
  Storage* markov_bias = nullptr;
  Storage* conf_out = nullptr;
  Storage* conv_dyn = nullptr;
  Storage* conv_tmp = nullptr;
  typename N::Unary* sel_vals = nullptr;
  Storage* sel_hproj = nullptr;
  std::uint32_t* sel_idx = nullptr;
  std::uint32_t* draft_tokens_dev = nullptr;
  std::int32_t* position_ids = nullptr;
  std::uint32_t* arguments = nullptr;  // option_b_indirect_args_dev
  std::uint64_t argument_words = 0;    // per band: 2 (v1) or 3

  // norm_buf is borrowed for the I32 positions of a precompute pass: memory of another type, so
  // through memcpy.
  void SetBorrowedPosition(std::size_t entry, std::int32_t position) {
    std::memcpy(reinterpret_cast<std::byte*>(norm_buf) + entry * sizeof(position), &position,
                sizeof(position));
  }
  std::int32_t BorrowedPosition(std::size_t entry) const {
    std::int32_t position;
    std::memcpy(&position, reinterpret_cast<const std::byte*>(norm_buf) + entry * sizeof(position),
                sizeof(position));
    return position;
  }

  // slot_mapping_dev has 32-bit entries in version 1 as documented, else 64-bit ones.
  void SetSlot(std::size_t entry, std::int64_t slot) {
    if (DM_FAULT(kSlotsWrittenAs32) && slots64 != nullptr) {
      const auto narrow = static_cast<std::int32_t>(slot);
      std::memcpy(reinterpret_cast<std::byte*>(slots64) + entry * sizeof(narrow), &narrow,
                  sizeof(narrow));
    } else if (slots32 != nullptr) {
      slots32[entry] = static_cast<std::int32_t>(slot);
    } else {
      slots64[entry] = slot;
    }
  }
  std::int64_t Slot(std::size_t entry) const {
    return slots32 != nullptr ? slots32[entry] : slots64[entry];
  }

  std::int32_t* slots32 = nullptr;
  std::int64_t* slots64 = nullptr;
};

// Owns the memory behind the buffers of one session.
template <typename N>
class StageStorage {
 public:
  // Everything comes from `allocator`, whose memory the host must be able to read, or if it is null
  // from a HostAllocator of this object's own, which `poison`s. Errors are those of
  // DflashScratchMemory::Create.
  static StatusOr<std::unique_ptr<StageStorage>> Create(const DflashScratchLayout& layout,
                                                        Poison poison,
                                                        Allocator* allocator = nullptr);
  ~StageStorage();
  StageStorage(const StageStorage&) = delete;
  StageStorage& operator=(const StageStorage&) = delete;

  const DflashScratchLayout& layout() const { return memory_->layout(); }
  StageBuffers<N>& buffers() { return buffers_; }
  // The K/V pools of the session, from the same allocator; they live as long as this object. Call
  // once. Errors are the allocator's: RESOURCE_EXHAUSTED names the pool.
  StatusOr<PagedCache<typename N::Storage>> AllocateCache(std::uint64_t layers,
                                                          std::uint64_t blocks,
                                                          std::uint64_t row_width);
  // Copies the first `count` output tokens to the pinned buffer, records the event, waits for it,
  // reads them back. For none it does nothing.
  StatusOr<std::vector<std::uint32_t>> FetchTokens(std::size_t count);

 private:
  StageStorage(Poison poison, Allocator* allocator)
      : host_({.poison = poison, .poison_seed = 1}),
        allocator_(allocator == nullptr ? host_ : *allocator) {}
  Status Bind();

  HostAllocator host_;  // idle if the owner brings an allocator
  Allocator& allocator_;
  std::unique_ptr<EventSource> events_;
  std::unique_ptr<DflashScratchMemory> memory_;
  std::vector<DeviceAddress> own_;  // beside the scratch: widened twins and the pools
  StageBuffers<N> buffers_;
};

extern template class StageStorage<ExactNumeric>;
extern template class StageStorage<Bf16Numeric>;

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_STAGE_BUFFERS_H_
