// DraftSession: one drafter at work on up to `max_batch` sequences ("bands"). The reference, the
// CUDA kernels and plug-ins implement it; whoever drives a session knows nothing of what is behind
// it.
//
//   DM_RETURN_IF_ERROR(session.AppendContext(0, taps, positions));   // taps of verified rows only
//   const BlockRequest block = {.band = 0, .tokens = ids, .start = p0};
//   DM_ASSIGN_OR_RETURN(const auto blocks, session.Propose({&block, 1}, nullptr));
//
// Rejected rows are never appended, so nothing is ever taken back. A failed call changes nothing
// that later calls can see. A session belongs to one thread at a time. Rules: spec/drafter.md
// sections 2, 3 and 8.
#ifndef DRAFTMARK_SRC_BACKEND_DRAFT_SESSION_H_
#define DRAFTMARK_SRC_BACKEND_DRAFT_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "src/backend/stages.h"
#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark {

// How a backend computes. kExact: float64 end to end, nothing rounded. kBf16: BF16 storage at the
// rounding points of spec/drafter.md.
enum class Precision { kExact, kBf16 };
std::string_view PrecisionName(Precision precision);  // "exact", "bf16"

struct SessionLimits {
  std::uint64_t max_batch = 1;
  std::uint64_t max_context = 0;  // context rows per band that the cache must hold
  std::uint64_t ctx_window = 0;   // rows of one precompute pass; longer tails go in chunks
  std::uint64_t gamma = 0;        // widest block
};

struct BlockRequest {
  std::size_t band = 0;
  std::vector<std::uint32_t>
      tokens;  // anchor, then mask ids; as many as the block is wide (equal for all bands)
  std::int64_t start = 0;  // p0: absolute position of the anchor
};

struct BlockResult {
  std::vector<std::uint32_t> draft_tokens;  // gamma - 1 (convention A) or gamma (B)
  std::vector<double> margin;               // best minus second-best score of each draft
  std::vector<double>
      confidence;  // confidence logit of each draft; empty without a confidence head
};

class DraftSession {
 public:
  virtual ~DraftSession() = default;

  // Appends context rows: `taps` is [rows, L_t * h_t], one absolute position per row. Positions of
  // a band ascend.
  virtual Status AppendContext(std::size_t band, std::span<const BFloat16> taps,
                               std::span<const std::int32_t> positions) = 0;
  // Drops rows from the front of a band's context; the positions of the others stay as they were
  // stamped.
  virtual Status DropFront(std::size_t band, std::uint64_t rows) = 0;
  // Forgets a band's context.
  virtual Status Reset(std::size_t band) = 0;
  // Runs one block for each request (distinct bands). `sink` may be null.
  virtual StatusOr<std::vector<BlockResult>> Propose(std::span<const BlockRequest> requests,
                                                     StageSink* sink) = 0;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BACKEND_DRAFT_SESSION_H_
