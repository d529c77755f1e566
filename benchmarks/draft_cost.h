// What one draft costs at least: bytes that must be read, operations that must be done.
//
//   const DraftShape shape = {.gamma = 16, .context = 2048, .new_rows = 8};
//   FloorBytes(config, shape).total()   // 3384363520 for Qwen3-8B's drafter
//
// One draft is fc, hidden_norm and K/V of the new context rows, then the block through all layers
// and the tail (spec/drafter.md sections 3 to 7). Pure functions, thread-safe.
#ifndef DRAFTMARK_BENCHMARKS_DRAFT_COST_H_
#define DRAFTMARK_BENCHMARKS_DRAFT_COST_H_

#include <cstdint>

#include "src/config/drafter_config.h"

namespace draftmark {

// Rows count per band. Context rows have the positions 0, 1, ..., the anchor the one behind them.
struct DraftShape {
  std::uint64_t gamma = 0;     // block rows
  std::uint64_t context = 0;   // rows in the cache before the draft
  std::uint64_t new_rows = 0;  // rows that the draft's own precompute pass appends
  std::uint64_t bands = 1;
};

// Bytes of BF16 that no draft can leave unread where the cache on the chip is smaller than a layer.
struct DraftBytes {
  // Every matrix and vector that takes part in a product or a norm, once: fc and hidden_norm (only
  // with new rows), layers, norm, LM head, the heads' projections; Markov's w2 once for each step,
  // since every step needs all of it and the token of the step before.
  std::uint64_t weights = 0;
  // Rows that are looked up: of the embedding one for each anchor and one for the mask, of w1 and
  // the predecessor table one for each draft, of the successor table one for each candidate.
  std::uint64_t rows = 0;
  // Keys and values, once for each layer and band, that at least one block row sees: the context
  // inside the layer's window, the new rows and the block itself.
  std::uint64_t keys_values = 0;

  std::uint64_t total() const { return weights + rows + keys_values; }
};
DraftBytes FloorBytes(const DrafterConfig& config, const DraftShape& shape);

// The floor's total with Markov's w2 counted once: a step may find on the chip what the one before
// has read. Nothing that is right reads fewer bytes from memory.
std::uint64_t UniqueBytes(const DrafterConfig& config, const DraftShape& shape);

// Bytes of the k and v projections (with biases), which the precompute pass and the layers both
// need and which are counted once above. A draft with new rows that runs the two one after the
// other reads them twice.
std::uint64_t SecondReadBytes(const DrafterConfig& config, const DraftShape& shape);

// A precompute pass of `rows` context rows alone: fc, hidden_norm, K and V of all layers with their
// norm, read once, the taps read, K and V written. Then its operations, counted as below.
std::uint64_t ContextBytes(const DrafterConfig& config, std::uint64_t rows);
double ContextFlops(const DrafterConfig& config, std::uint64_t rows);

// Two for each multiplication of the matrix products and of attention over visible keys; norms,
// activations and searches count nothing.
double DraftFlops(const DrafterConfig& config, const DraftShape& shape);

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_DRAFT_COST_H_
