// What the forward reads of one sequence.
#ifndef DRAFTMARK_SRC_BACKEND_BAND_VIEW_H_
#define DRAFTMARK_SRC_BACKEND_BAND_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/tensor/bfloat16.h"

namespace draftmark {

// Owned by the session; valid during one propose.
struct BandView {
  std::size_t band = 0;
  std::span<const std::uint32_t> block_table = {};
  std::span<const BFloat16> taps = {};  // [context rows, L_t * h_t], by logical index
  std::span<const std::int32_t> context_positions = {};  // by logical index, stamped when appended
  std::uint64_t committed = 0;                           // rows [0, committed) are in the cache
  std::uint64_t new_rows = 0;  // rows appended since the last propose: what stages show
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BACKEND_BAND_VIEW_H_
