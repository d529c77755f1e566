#include "src/backend/index_masks.h"

#include <fmt/format.h>

namespace draftmark {

std::optional<IndexMask> IndexMaskOf(const DrafterConfig& config, const SessionPlan& plan) {
  constexpr std::uint64_t kWordsWithPosition = 3;
  if (!plan.paged || plan.layout.argument_words() >= kWordsWithPosition) return std::nullopt;
  if (!config.sliding_window) return std::nullopt;
  for (std::uint64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    if (config.layer_types[layer] == LayerType::kSlidingAttention) {
      return IndexMask{layer, *config.sliding_window};
    }
  }
  return std::nullopt;
}

Status CheckIndexMask(const IndexMask& mask, std::span<const std::int32_t> context_positions,
                      const BlockRequest& request) {
  const std::uint64_t context = context_positions.size();
  const auto width = static_cast<std::int64_t>(request.tokens.size());
  // Those that the window of the block's first row reaches by index; later rows reach less far
  // back. From the last one on, so that the gap nearest to the block is named.
  for (std::uint64_t distance = 1; distance < mask.window && distance <= context; ++distance) {
    const std::uint64_t row = context - distance;
    const std::int64_t expected = request.start - static_cast<std::int64_t>(distance);
    const std::int64_t found = context_positions[row];
    // Of the block's last row, by position.
    const std::int64_t farthest = request.start + width - 1 - found;
    if (found == expected || static_cast<std::uint64_t>(farthest) < mask.window) continue;
    return FailedPreconditionError(fmt::format(
        "propose: band {}: layer {} has a window of {} keys, and scratch v1, whose records hold no "
        "position, counts them by index: context row {} must stand at position {}, found {}",
        request.band, mask.layer, mask.window, row, expected, found));
  }
  return OkStatus();
}

}  // namespace draftmark
