#include "kernels/draft/session_checks.h"

#include <fmt/format.h>

#include <cstdint>

#include "kernels/device/arguments.h"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "src/base/checked.h"
#include "src/scratch/dflash_layout.h"

namespace draftmark::kernels {

Status CheckKernelLimits(const DrafterConfig& config, const DraftWeights& weights,
                         const SessionLimits& limits, bool paged) {
  const auto most = static_cast<std::uint64_t>(PagedAttentionTraits::kMostHeadDim);
  if (config.head_dim > most) {
    return InvalidArgumentError(
        fmt::format("head_dim {}: the attention kernel takes at most {}", config.head_dim, most));
  }
  if (weights.present().selector && config.selector_top_k != kSelectorTopK) {
    return InvalidArgumentError(fmt::format("selector_top_k {}: the walk takes {} candidates",
                                            config.selector_top_k, kSelectorTopK));
  }
  constexpr auto kMostRows = static_cast<std::uint64_t>(kMostBlocksYZ);
  const CheckedU64 rows = paged ? CheckedU64(limits.max_batch) * limits.gamma
                                : CheckedU64(limits.ctx_window) + limits.gamma;
  if (!rows.ok() || rows.value() > kMostRows) {
    return InvalidArgumentError(fmt::format(
        "session limits: max_batch {}, gamma {}{}: a block forward takes at most {} rows",
        limits.max_batch, limits.gamma,
        paged ? "" : fmt::format(", ctx_window {}", limits.ctx_window), kMostRows));
  }
  const CheckedU64 taps = CheckedU64(limits.max_batch) * limits.max_context;
  if (!taps.ok() || taps.value() > INT32_MAX) {
    return InvalidArgumentError(
        fmt::format("session limits: max_batch {} times max_context {}: at most {} context rows",
                    limits.max_batch, limits.max_context, INT32_MAX));
  }
  return OkStatus();
}

}  // namespace draftmark::kernels
