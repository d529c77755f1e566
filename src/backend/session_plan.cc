#include "src/backend/session_plan.h"

#include <fmt/format.h>

#include <limits>

#include "src/backend/cache_slots.h"
#include "src/base/checked.h"

namespace draftmark {

std::uint64_t SessionPlan::cache_slots() const { return cache_blocks * kCacheBlockRows; }

StatusOr<SessionPlan> PlanSession(const DrafterConfig& config, const DrafterTensorsPresent& tensors,
                                  const SessionLimits& limits, const SessionPlanOptions& options) {
  if (!options.paged && limits.max_batch != 1) {
    return InvalidArgumentError(fmt::format(
        "session limits: max_batch {}: the path without a cache has one band", limits.max_batch));
  }
  if (limits.max_batch == 0 || limits.ctx_window == 0 || limits.gamma < 2) {
    return InvalidArgumentError(fmt::format(
        "session limits: max_batch {} and ctx_window {} must be above 0, gamma {} at least 2",
        limits.max_batch, limits.ctx_window, limits.gamma));
  }
  if (tensors.selector && config.selector_top_k > kSelectorTopK) {
    return InvalidArgumentError(
        fmt::format("selector_top_k {}: the scratch holds {} candidates per row",
                    config.selector_top_k, kSelectorTopK));
  }
  const CheckedU64 blocks_per_band =
      CeilDiv(CheckedU64(limits.max_context) + limits.gamma + 1, kCacheBlockRows);
  const CheckedU64 blocks = blocks_per_band * limits.max_batch + 1;
  const CheckedU64 cache_bytes = blocks * kCacheBlockRows * config.kv_dim() *
                                 config.num_hidden_layers * 2 * options.cache_element_bytes;
  if (!cache_bytes.ok() || blocks.value() > UINT32_MAX) {
    return OutOfRangeError(
        fmt::format("session limits: a cache of {} bands of {} context rows is too large",
                    limits.max_batch, limits.max_context));
  }
  DflashScratchRequest request;
  request.geometry = DflashGeometry::FromConfig(config);
  request.tensors = tensors;
  request.version = options.scratch_version;
  request.layout = options.layout;
  request.ctx_window = limits.ctx_window;
  request.max_batch = limits.max_batch;
  request.gamma = limits.gamma;
  request.batched_heads = options.batched_heads;
  DM_ASSIGN_OR_RETURN(DflashScratchLayout layout, DflashScratchLayout::Create(request));
  if (layout.Field("slot_mapping_dev").dtype == DType::kI32 &&
      blocks.value() >
          static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()) / kCacheBlockRows) {
    return OutOfRangeError(
        fmt::format("session limits: a cache of {} blocks has slots beyond the 32 bits of this "
                    "layout's slot_mapping_dev",
                    blocks.value()));
  }
  return SessionPlan{std::move(layout), options.paged, blocks_per_band.value(), blocks.value()};
}

}  // namespace draftmark
