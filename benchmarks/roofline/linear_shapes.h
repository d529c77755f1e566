// The linear layers of drafters as matrix shapes, and how a shape is timed cold.
//
//   for (const LinearShape& shape : LinearShapes(works)) {
//     const ChainPlan plan = PlanChain(shape.bytes(), gpu.info().l2_bytes);
//   }
//
// Pure functions.
#ifndef DRAFTMARK_BENCHMARKS_ROOFLINE_LINEAR_SHAPES_H_
#define DRAFTMARK_BENCHMARKS_ROOFLINE_LINEAR_SHAPES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "benchmarks/roofline/goals.h"
#include "src/tensor/bfloat16.h"

namespace draftmark {

struct LinearShape {
  std::uint64_t n = 0;  // y [rows, n] = x [rows, k] * W [n, k]^T
  std::uint64_t k = 0;
  std::string used_as;  // "qwen3-8b-dflash-b16: q, o"

  // Of the weights. Rows are not counted, as in the floor of a draft: they stay on the chip.
  std::uint64_t bytes() const { return n * k * sizeof(BFloat16); }
  std::string Id(std::uint64_t rows) const;  // "linear/rows=16,n=4096,k=20480"
};

// The distinct shapes of the works' drafters by ascending bytes: every matrix that a draft
// multiplies rows with by a linear layer, alone and together with those that have the same input
// (q|k|v, gate|up, K and V of all layers). Not the Markov and confidence heads, which have kernels
// of their own.
std::vector<LinearShape> LinearShapes(std::span<const RooflineWork> works);

// A graph of `calls` calls one after the other, call i with copy i % copies of the weights.
struct ChainPlan {
  std::uint64_t copies = 0;
  std::uint64_t calls = 0;  // a multiple of copies, so that replays go on in turns
};

inline constexpr std::uint64_t kLeastChainCalls = 32;
// Enough that the start of a graph (a few microseconds) is below a percent of it.
inline constexpr std::uint64_t kLeastChainBytes = 1'000'000'000;
// Where the L2 cache is smaller than half of it.
inline constexpr std::uint64_t kLeastOtherBytes = 100'000'000;

// Between two reads of a copy at least twice the L2 cache of other weights are read.
ChainPlan PlanChain(std::uint64_t weight_bytes, std::uint64_t l2_bytes);

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_ROOFLINE_LINEAR_SHAPES_H_
