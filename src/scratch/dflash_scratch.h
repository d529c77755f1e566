// DflashScratchMemory: allocates a DflashScratch field by field and owns it.
//
//   DM_ASSIGN_OR_RETURN(const auto memory, DflashScratchMemory::Create(layout, allocator, events));
//   const DflashScratch& scratch = memory->scratch();
//   scratch.draft_tokens_host_pinned.load(std::memory_order_relaxed);
//
// One allocation per field in the seeds' order, tagged with the field's name, never re-allocated;
// fields that are null by their NULL rule stay null. The pinned buffer is zeroed, device buffers
// are not (spec/dflash_scratch.md section 5): results must not depend on prior contents.
//
// Ownership: frees everything and destroys the event on destruction; allocator and event source
// must outlive it. Any thread may read scratch() meanwhile; Release belongs to one thread, after
// all others are done.
#ifndef DRAFTMARK_SRC_SCRATCH_DFLASH_SCRATCH_H_
#define DRAFTMARK_SRC_SCRATCH_DFLASH_SCRATCH_H_

#include <memory>

#include "src/base/status.h"
#include "src/scratch/allocator.h"
#include "src/scratch/dflash_fields.h"
#include "src/scratch/dflash_layout.h"
#include "src/scratch/event_source.h"

namespace draftmark {

struct DflashScratchOptions {
  // Accept a layout whose precompute borrows do not hold for a full window (L * kv_dim above
  // intermediate_size). The caller then limits passes to MaxPrecomputeRows(layout).
  bool allow_short_precompute = false;
};

class DflashScratchMemory {
 public:
  // FAILED_PRECONDITION if the borrowing invariants do not hold for every n <= ctx_window (unless
  // the option says otherwise, and then if not even one row fits). A failed allocation passes
  // through after everything allocated so far has been freed.
  static StatusOr<std::unique_ptr<DflashScratchMemory>> Create(const DflashScratchLayout& layout,
                                                               Allocator& allocator,
                                                               EventSource& events,
                                                               DflashScratchOptions options = {});

  DflashScratchMemory(const DflashScratchMemory&) = delete;
  DflashScratchMemory& operator=(const DflashScratchMemory&) = delete;
  ~DflashScratchMemory();

  const DflashScratch& scratch() const { return scratch_; }
  const DflashScratchLayout& layout() const { return layout_; }

  // Frees and nulls every field, also where a free fails; returns the first failure. Calling it
  // again does nothing and returns OK.
  Status Release();

 private:
  DflashScratchMemory(const DflashScratchLayout& layout, Allocator& allocator, EventSource& events)
      : layout_(layout), allocator_(allocator), events_(events) {}
  Status AllocateAll();
  Status AllocatePinned(const DflashFieldLayout& entry);

  const DflashScratchLayout layout_;
  Allocator& allocator_;
  EventSource& events_;
  DflashScratch scratch_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_DFLASH_SCRATCH_H_
