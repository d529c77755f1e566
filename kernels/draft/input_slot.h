// InputSlot: where the host puts together what one propose tells the device, in page-locked memory.
//
// A slot may be filled again only when the copies that read it are done; the session keeps several
// and waits for a slot's event before it uses the slot again (spec/dflash_scratch.md section 5: a
// source that is reused too early is a replay hazard). A view; owns nothing.
#ifndef DRAFTMARK_KERNELS_DRAFT_INPUT_SLOT_H_
#define DRAFTMARK_KERNELS_DRAFT_INPUT_SLOT_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/backend/draft_session.h"
#include "src/backend/session_plan.h"
#include "src/config/drafter_config.h"

namespace draftmark::kernels {

class InputSlot {
 public:
  static std::uint64_t BytesFor(const SessionPlan& plan, const SessionLimits& limits,
                                const DrafterConfig& config);
  // `memory` holds BytesFor bytes.
  InputSlot(std::byte* memory, const SessionPlan& plan, const SessionLimits& limits,
            const DrafterConfig& config);

  std::span<std::uint32_t> tokens;    // [bands * width]: anchor, then masks
  std::span<std::int32_t> positions;  // [bands * width]; without a cache [context + width]
  std::span<std::uint32_t>
      records;  // [bands, words]: the argument records; without a cache one of 3
  std::span<std::int32_t> pass_positions;  // [L * n]: of the rows of a precompute pass
  std::span<std::uint32_t> tap_rows;       // [n]: where their taps lie in the accumulators
  std::span<std::uint32_t> tables;         // [bands, table]
  std::span<std::byte> slots;              // [n] of the layout's slot type

  void SetSlot(std::size_t entry, std::int64_t slot);
  std::uint64_t slot_bytes() const { return slot_bytes_; }  // of one entry: 4 or 8

 private:
  std::uint64_t slot_bytes_ = 8;
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_INPUT_SLOT_H_
