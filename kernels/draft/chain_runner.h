// Collects the steps of streaming chains (kernels/stream_chain) and launches as many at once as may
// follow each other in one kernel. Errors are those of the launchers; for one thread.
#ifndef DRAFTMARK_KERNELS_DRAFT_CHAIN_RUNNER_H_
#define DRAFTMARK_KERNELS_DRAFT_CHAIN_RUNNER_H_

#include <cstdint>
#include <vector>

#include "kernels/draft/draft_parts.h"
#include "kernels/stream_chain/stream_chain.h"
#include "src/base/status.h"

namespace draftmark::kernels {

// Whether chains take all linear layers of a block forward with so many rows, on this device.
bool ChainsFit(const DraftParts& parts, std::uint64_t rows);
// The same for fc and the projections of a context pass.
bool ChainsFitContext(const DraftParts& parts, std::uint64_t rows);
// Keys and values of all layers from the context's rows, to y [rows, L, 2, kv_dim].
StreamPart FusedKeysValues(const DraftParts& parts, BFloat16* y);

// Of one draft. Whoever launches anything else on the stream flushes first.
class ChainRunner {
 public:
  // `at_once`: every step is a launch of its own, so that its results can be read behind it. They have
  // the same bits.
  ChainRunner(const DraftParts& parts, bool at_once) : p_(parts), at_once_(at_once) {}

  bool at_once() const { return at_once_; }

  // RMSNorm in front of a linear layer, with the sums of squares that the step before left in the
  // workspace, or CountSquares.
  StreamLinear Normed(const BFloat16* x, DeviceMatrix weight, std::uint64_t rows,
                      BFloat16* normed) const;
  // Leaves the rows' sums of squares for the next Normed.
  Status AddCounted(StreamLinear step);
  Status CountSquares(const BFloat16* x, std::uint64_t rows);
  // The sums are there, in so many parts.
  void SquaresCounted(std::int64_t parts) { sum_parts_ = parts; }

  Status Add(const StreamLinear& step);
  // Needs nothing of the step in front of it, whether or not that is in another launch by then.
  Status AddBeside(const StreamLinear& step);
  Status Add(const std::vector<StreamHeads>& heads);
  Status Add(const PagedAttentionArgs& attention);
  // The steps up to the next flush write so many rows in front of the block's, too.
  void LateKeys(std::uint64_t rows) { late_keys_ = Signed(rows); }
  Status Flush();

 private:
  // For one more step, with so many heads and attentions.
  Status MakeRoom(std::size_t heads, int attentions);

  const DraftParts& p_;
  const bool at_once_;
  StreamChain chain_;
  std::size_t heads_ = 0;
  int attentions_ = 0;
  std::int64_t late_keys_ = 0;
  std::int64_t sum_parts_ = 0;
};

// Heads of rows that lie `stride` elements apart: RMSNorm (if there is a weight) in place, ...
StreamHeads NormedHeads(const DraftParts& parts, BFloat16* x, std::uint64_t stride,
                        std::uint64_t rows, std::uint64_t heads, DeviceMatrix weight);
// ... RoPE by the rows' positions, ...
void RotateHeads(const DraftParts& parts, const std::int32_t* positions, StreamHeads& heads);
// ... and instead of in place to the rows' slots of a pool.
void CacheHeads(const DraftParts& parts, const Slots& slots, BFloat16* pool, StreamHeads& heads);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_CHAIN_RUNNER_H_
