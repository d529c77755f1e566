// Masks of attention that count by index in the cache: which sessions have them, and which blocks
// they are right for. Sequences::CheckRequests refuses the others, for every backend alike.
//
//   const std::optional<IndexMask> mask = IndexMaskOf(config, plan);
//   if (mask) DM_RETURN_IF_ERROR(CheckIndexMask(*mask, sequence.positions, request));
//
// The records of scratch v1 have two words: they say where a block's rows lie in the cache, and not
// at which position. With a cache, who has nothing else tests a sliding layer's window by index,
// which is right as long as positions and indices are apart by the same number. A gap (a position
// that no row has, as where a model's thinking was cut out) can break that: a key that lies outside
// the window by position is within it by index. The check refuses such blocks and no others. Two
// rows are never closer by position than by index, so that a gap does no harm once the window has
// passed it, or as long as all of the context and the block lie within the window. Causal layers
// without a window need no positions at all.
//
// Rules: spec/drafter.md sections 4.4 and 4.5, spec/dflash_scratch.md section 1. Pure functions,
// thread-safe.
#ifndef DRAFTMARK_SRC_BACKEND_INDEX_MASKS_H_
#define DRAFTMARK_SRC_BACKEND_INDEX_MASKS_H_

#include <cstdint>
#include <optional>
#include <span>

#include "src/backend/draft_session.h"
#include "src/backend/session_plan.h"
#include "src/base/status.h"
#include "src/config/drafter_config.h"

namespace draftmark {

struct IndexMask {
  std::uint64_t layer = 0;   // the first one that has it
  std::uint64_t window = 0;  // keys, the row's own included
};

// Nothing if no layer slides, or if positions are there: on v2, and on every path without a cache.
std::optional<IndexMask> IndexMaskOf(const DrafterConfig& config, const SessionPlan& plan);

// FAILED_PRECONDITION, with layer, window, row, and the position expected and found, for a block of
// which some row sees a context row by index and not by position. `context_positions`: of all
// context rows of the request's band, in the order of the cache.
Status CheckIndexMask(const IndexMask& mask, std::span<const std::int32_t> context_positions,
                      const BlockRequest& request);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BACKEND_INDEX_MASKS_H_
