// What the host side of an engine keeps of its sequences ("bands"), and the checks of what it is
// asked to do: the part of a DraftSession that is the same for every backend.
//
//   Sequences sequences(limits, config, plan);
//   DM_RETURN_IF_ERROR(sequences.CheckAppend(band, taps.size(), positions));
//   ... store the taps ...
//   sequences.Append(band, positions);
//
// Checks change nothing, changes check nothing. Errors: INVALID_ARGUMENT, RESOURCE_EXHAUSTED for
// more context than the session's limits, FAILED_PRECONDITION for a block that the scratch's
// buffers cannot hold, or whose windows its records cannot describe (index_masks.h). Rules:
// spec/drafter.md sections 2, 3.8 and 8. Not thread-safe.
#ifndef DRAFTMARK_SRC_BACKEND_SEQUENCES_H_
#define DRAFTMARK_SRC_BACKEND_SEQUENCES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/backend/draft_session.h"
#include "src/backend/index_masks.h"
#include "src/backend/session_plan.h"
#include "src/base/status.h"
#include "src/config/drafter_config.h"

namespace draftmark {

struct Sequence {
  std::vector<std::int32_t> positions;     // by logical index, stamped when appended
  std::uint64_t committed = 0;             // rows [0, committed) are in the cache
  std::uint64_t new_rows = 0;              // appended since the last propose: what stages show
  std::vector<std::uint32_t> block_table;  // physical blocks, by logical index / 16

  std::uint64_t pending() const { return positions.size() - committed; }
};

class Sequences {
 public:
  Sequences(const SessionLimits& limits, const DrafterConfig& config, const SessionPlan& plan);

  std::size_t size() const { return bands_.size(); }
  const Sequence& operator[](std::size_t band) const { return bands_[band]; }

  Status CheckBand(std::size_t band) const;
  Status CheckAppend(std::size_t band, std::size_t tap_values,
                     std::span<const std::int32_t> positions) const;
  Status CheckDrop(std::size_t band, std::uint64_t rows) const;
  // Of one propose: distinct bands, equal widths from 2 to gamma, known tokens, anchors behind
  // their context, rows that the scratch can hold, windows that it can describe.
  Status CheckRequests(std::span<const BlockRequest> requests) const;

  void Append(std::size_t band, std::span<const std::int32_t> positions);
  // The rows that stay have new logical indices, so all of them must be written again.
  void DropFront(std::size_t band, std::uint64_t rows);
  void Reset(std::size_t band);
  // `rows` context rows are in the cache. Advance only what has been written.
  void Commit(std::size_t band, std::uint64_t rows) { bands_[band].committed = rows; }
  // After a propose: every row is in the cache, and stages have shown them.
  void EndPropose(std::span<const BlockRequest> requests);

 private:
  Status CheckRequest(const BlockRequest& request, std::size_t bands, std::size_t width) const;

  const SessionLimits limits_;
  const std::uint64_t tap_width_;
  const std::uint64_t vocabulary_;
  const DflashScratchLayout layout_;
  const bool paged_;
  const std::optional<IndexMask> index_mask_;
  std::vector<Sequence> bands_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BACKEND_SEQUENCES_H_
