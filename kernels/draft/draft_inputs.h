// DraftInputs: what a session tells the device: taps into the accumulators, and before each pass and
// block slots, positions, tokens, argument records and block tables, through page-locked slots
// (spec/dflash_scratch.md section 5, steps 1 to 3).
//
// Everything goes onto the session's stream; nothing waits but AppendTaps, whose source belongs to
// the caller, and a slot that is needed again too early. Errors are those of CUDA. One thread.
#ifndef DRAFTMARK_KERNELS_DRAFT_DRAFT_INPUTS_H_
#define DRAFTMARK_KERNELS_DRAFT_DRAFT_INPUTS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/draft/block_path.h"
#include "kernels/draft/draft_parts.h"
#include "kernels/draft/session_memory.h"
#include "src/backend/band_view.h"
#include "src/backend/draft_session.h"
#include "src/base/status.h"

namespace draftmark::kernels {

// One context row of a pass: whose it is, and its logical index.
struct ContextRow {
  std::size_t view = 0;  // index among the bands of the propose
  std::uint64_t index = 0;
};

class DraftInputs {
 public:
  DraftInputs(const DraftParts& parts, const SessionLimits& limits, InputSlots& slots)
      : p_(parts), limits_(limits), slots_(slots), ring_first_(limits.max_batch, 0) {}

  // Rows from logical index `index` of a band on.
  Status AppendTaps(std::size_t band, std::uint64_t index, std::span<const BFloat16> taps);
  void DropFront(std::size_t band, std::uint64_t rows);

  // Taps of neighbouring rows, as far as they lie together: from `index` on, at most `most` rows.
  struct TapRun {
    const BFloat16* taps = nullptr;
    std::uint64_t rows = 0;
  };
  TapRun RunFrom(std::size_t band, std::uint64_t index, std::uint64_t most) const;
  // Where gathered taps lie: precompute_in, or on scratch v1 a workspace.
  BFloat16* staging() const {
    return p_.workspace.tap_staging != nullptr ? p_.workspace.tap_staging
                                               : p_.scratch.precompute_in.get();
  }

  // Each fills a slot and sends it. A pass of `padded` rows; `gather` fetches their taps to
  // staging() too.
  Status SendPass(std::span<const BandView> views, std::span<const ContextRow> rows,
                  std::uint64_t padded, bool gather, InputSlot& slot);
  Status SendBlock(std::span<const BandView> views, std::span<const BlockRequest> requests,
                   InputSlot& slot);
  Status SendContiguous(const BandView& view, const BlockRequest& request, InputSlot& slot);
  // Inputs of a draft that touches no row of the cache, and reads no memory that nobody wrote.
  Status SendIdle(const BlockShape& shape, std::uint64_t pass_rows, InputSlot& slot);

  StatusOr<InputSlot*> Acquire() { return slots_.Acquire(); }
  Status Release() { return slots_.Release(p_.stream); }

 private:
  // Counted in rows of the accumulators.
  std::uint64_t TapRow(std::size_t band, std::uint64_t index) const {
    return band * limits_.max_context + (ring_first_[band] + index) % limits_.max_context;
  }
  template <typename T>
  Status Upload(void* target, std::span<const T> source) const {
    return CopyToDevice({target}, std::as_bytes(source), p_.stream);
  }
  Status GatherTaps(std::span<const BandView> views, std::span<const ContextRow> rows,
                    std::uint64_t padded, InputSlot& slot);
  void FillBlock(std::span<const BandView> views, std::span<const BlockRequest> requests,
                 InputSlot& slot) const;
  Status UploadBlock(const InputSlot& slot, const BlockShape& shape) const;

  const DraftParts& p_;
  const SessionLimits limits_;
  InputSlots& slots_;
  std::vector<std::uint64_t> ring_first_;  // row of each band's accumulator that index 0 is in
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_DRAFT_INPUTS_H_
