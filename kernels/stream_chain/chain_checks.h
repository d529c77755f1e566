// What a chain's steps must be: OK, or INVALID_ARGUMENT with the first rule that does not hold. Thread-safe.
#ifndef DRAFTMARK_KERNELS_STREAM_CHAIN_CHAIN_CHECKS_H_
#define DRAFTMARK_KERNELS_STREAM_CHAIN_CHAIN_CHECKS_H_

#include <algorithm>
#include <cstdint>

#include "kernels/device/arguments.h"
#include "kernels/paged_attention/paged_attention.h"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "kernels/stream_chain/stream_chain.h"
#include "kernels/stream_chain/stream_chain_traits.h"
#include "src/base/status.h"

namespace draftmark::kernels {

inline bool IsPairStep(const StreamLinear& step) {
  return step.epilogue == StreamEpilogue::kSwiGlu;
}

inline Status CheckStreamLinear(const StreamLinear& step) {
  const bool pair = IsPairStep(step);
  const bool residual = step.epilogue == StreamEpilogue::kResidual;
  ArgumentCheck check("stream_chain");
  check.Size("rows", step.rows, 1, StreamChainTraits::kMostRows)
      .Size("k", step.k, StreamChainTraits::kBlock, INT32_MAX / 2)
      .Rule(step.k % StreamChainTraits::kBlock == 0, "k is a multiple of 64")
      .Size("part_count", step.part_count, 1, StreamChainTraits::kMostParts);
  // There are no more parts than that to look at.
  if (!check.status().ok()) return check.status();
  for (int i = 0; i < step.part_count; ++i) {
    check.Size("n", step.parts[i].n, 1, INT32_MAX / 2)
        .Size("groups", step.parts[i].groups, 1, INT32_MAX / 2)
        .Size("group_step", step.parts[i].group_step, 0);
  }
  if (!check.status().ok()) return check.status();
  check.Pointer("x", step.x)
      .Rule(step.softcap >= 0, "softcap is not negative")
      .Rule(step.norm_weight == nullptr || (step.norm_sums != nullptr && step.norm_parts > 0),
            "a norm has sums of squares")
      .Rule(step.norm_parts <= INT32_MAX, "norm_parts are few enough")
      .Rule(step.row_sums == nullptr || (step.part_count == 1 && !pair), "row_sums are of one part")
      .Rule(step.row_sums == nullptr || step.row_sums != step.norm_sums,
            "row_sums are not the norm's own")
      .Rule(step.row_best == nullptr ||
                (step.part_count == 1 && step.epilogue == StreamEpilogue::kStore),
            "row_best is of one part that is stored")
      .Rule(CanVectorise({step.norm_sums}, {}), "a norm's sums are aligned to 16 bytes")
      .Rule(step.normed != step.x, "normed rows go elsewhere")
      .Rule(step.normed == nullptr || step.norm_weight != nullptr, "normed rows have a norm")
      .Rule(step.epsilon >= 0, "epsilon is not negative")
      .Rule(!residual || step.residual != step.x, "a residual is not x")
      .Rule(!pair || (step.part_count == 2 && step.parts[0].n == step.parts[1].n),
            "a pair has two parts of the same n")
      .Rule(!pair || step.parts[0].weight != step.parts[1].weight, "a pair has two matrices")
      .Rule(!residual || (step.part_count == 1 && step.residual != nullptr),
            "a residual has one part")
      .Rule(CanVectorise({step.x, step.norm_weight, step.normed}, {}),
            "rows are aligned to 16 bytes");
  for (int i = 0; i < step.part_count; ++i) {
    const StreamPart& part = step.parts[i];
    check.Pointer("weight", part.weight)
        .Rule(residual || (pair && i > 0) || part.y != nullptr, "y is not null")
        .Rule(part.y == nullptr || part.y != step.x, "y is not x")
        .Rule(!pair || part.bias == nullptr, "a pair has no bias")
        .Rule(part.outputs() <= INT32_MAX / 2, "outputs of all groups fit")
        .Rule(part.groups == 1 || (!pair && !residual && step.row_best == nullptr),
              "groups are stored")
        .Rule(part.group_step % (16 / static_cast<std::int64_t>(sizeof(BFloat16))) == 0,
              "groups are aligned to 16 bytes")
        .Rule(CanVectorise({part.weight}, {}), "weights are aligned to 16 bytes");
  }
  return check.status();
}

inline Status CheckStreamHeads(const StreamHeads& heads) {
  ArgumentCheck check("stream_chain, heads");
  check.Size("rows", heads.rows)
      .Size("heads", heads.heads)
      .Size("d", heads.d, 1, StreamChainTraits::kMostHeadDim)
      .Rule(heads.frequency == nullptr || (heads.rotary >= 0 && heads.rotary <= heads.d &&
                                           heads.partner >= 0 && heads.partner <= heads.d),
            "pairs lie in the head");
  // Products of sizes and their sums fit from here on.
  if (!check.status().ok()) return check.status();
  return check.Size("x_stride", heads.x_stride, heads.heads * heads.d)
      .Pointer("x", heads.x)
      .Rule(heads.frequency == nullptr || heads.positions != nullptr, "RoPE has positions")
      .Rule(heads.frequency == nullptr || heads.rotary / 2 + heads.partner <= heads.d,
            "pairs lie in the head")
      .Rule(heads.pool == nullptr || (heads.slots64 == nullptr) != (heads.slots32 == nullptr),
            "a pool has slots of one width")
      .Rule(heads.slot_positions == nullptr || heads.positions != nullptr,
            "slot positions have positions")
      .Rule(heads.y != nullptr || heads.pool != nullptr, "heads go somewhere")
      .Rule(heads.y == nullptr || heads.y_stride >= heads.heads * heads.d, "y_stride holds a row")
      .Rule(heads.y != heads.x || heads.y_stride == heads.x_stride, "y in place has x's stride")
      .Rule(heads.rotary >= 0 && heads.rotary % 2 == 0, "rotary is even")
      .Rule(heads.frequency == nullptr || heads.partner >= heads.rotary / 2, "pairs do not overlap")
      .Rule(heads.pool == nullptr || heads.pool_slots > 0, "a pool has slots")
      .status();
}

// Rows of a band whose heads of a group are 64 queries at most.
inline std::int64_t TileRows(const PagedAttentionArgs& args) {
  return std::clamp<std::int64_t>(PagedAttentionTraits::kQueries / (args.heads / args.kv), 1,
                                  args.rows);
}

// What paged_attention takes, and what this kernel does.
inline Status CheckStreamAttention(const PagedAttentionArgs& args) {
  DM_RETURN_IF_ERROR(CheckPagedAttention(args));
  return ArgumentCheck("stream_chain, attention")
      .Size("rows", args.rows, 1, kMostBlocksYZ)
      .Size("bands", args.bands, 1, kMostBlocksYZ)
      .Rule(args.d == 64 || args.d == 128, "d is 64 or 128")
      .Rule(args.heads / args.kv <= PagedAttentionTraits::kQueries,
            "a row's group is 64 queries at most")
      .Rule(CanVectorise({args.q, args.k_pool, args.v_pool, args.out}, {}),
            "queries, pools and results are aligned to 16 bytes")
      .Rule(PoolsFitOneMap(args), "keys and values have pools of their own, less than 1 TiB apart")
      .Rule(args.bands * args.kv * CeilDiv(args.rows, TileRows(args)) <=
                StreamChainTraits::kMostItems,
            "bands, KV heads and rows are few enough")
      .status();
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_STREAM_CHAIN_CHAIN_CHECKS_H_
