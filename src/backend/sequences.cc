#include "src/backend/sequences.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "src/faults/fault.h"
#include "src/scratch/dflash_borrows.h"

namespace draftmark {

Sequences::Sequences(const SessionLimits& limits, const DrafterConfig& config,
                     const SessionPlan& plan)
    : limits_(limits),
      tap_width_(config.tap_width()),
      vocabulary_(config.vocab_size),
      layout_(plan.layout),
      paged_(plan.paged),
      index_mask_(IndexMaskOf(config, plan)),
      bands_(limits.max_batch) {
  // Blocks are dealt out from the end and in turns, so that no band's table is the identity.
  auto next = static_cast<std::uint32_t>(plan.cache_blocks - 1);
  for (std::uint64_t i = 0; i < plan.blocks_per_band; ++i) {
    for (Sequence& band : bands_) band.block_table.push_back(next--);
  }
}

Status Sequences::CheckBand(std::size_t band) const {
  if (band < bands_.size()) return OkStatus();
  return InvalidArgumentError(
      fmt::format("band {}: the session has {} band(s)", band, bands_.size()));
}

Status Sequences::CheckAppend(std::size_t band_index, std::size_t tap_values,
                              std::span<const std::int32_t> positions) const {
  DM_RETURN_IF_ERROR(CheckBand(band_index));
  const Sequence& band = bands_[band_index];
  if (tap_values != positions.size() * tap_width_) {
    return InvalidArgumentError(
        fmt::format("band {}: {} context rows need {} tap values each, found {} in all", band_index,
                    positions.size(), tap_width_, tap_values));
  }
  if (band.positions.size() + positions.size() > limits_.max_context) {
    return ResourceExhaustedError(
        fmt::format("band {}: {} + {} context rows exceed the session's {}", band_index,
                    band.positions.size(), positions.size(), limits_.max_context));
  }
  std::int64_t last = band.positions.empty() ? -1 : band.positions.back();
  for (const std::int32_t position : positions) {
    if (position <= last && !DM_FAULT(kRejectedRowsAppended)) {
      return InvalidArgumentError(
          fmt::format("band {}: context positions must ascend from 0, found {} after {}",
                      band_index, position, last));
    }
    last = position;
  }
  return OkStatus();
}

Status Sequences::CheckDrop(std::size_t band, std::uint64_t rows) const {
  DM_RETURN_IF_ERROR(CheckBand(band));
  if (rows <= bands_[band].positions.size()) return OkStatus();
  return InvalidArgumentError(fmt::format("band {}: cannot drop {} of {} context rows", band, rows,
                                          bands_[band].positions.size()));
}

Status Sequences::CheckRequest(const BlockRequest& request, std::size_t bands,
                               std::size_t width) const {
  if (request.tokens.size() != width || width < 2 || width > limits_.gamma) {
    return InvalidArgumentError(
        fmt::format("propose: band {} has {} block rows; all bands need the same number, 2 to {}",
                    request.band, request.tokens.size(), limits_.gamma));
  }
  const Sequence& band = bands_[request.band];
  if (paged_) {
    // Of the layout that was asked for: one of upstream's holds fewer slots than max_batch *
    // gamma.
    if (!DM_FAULT(kSlotBufferTooSmall)) {
      DM_RETURN_IF_ERROR(CheckBlock(layout_, bands, width).Annotated("propose"));
    }
  } else {
    DM_RETURN_IF_ERROR(CheckNonPagedBlock(layout_, band.positions.size(), width)
                           .Annotated(fmt::format("propose: band {}", request.band)));
  }
  for (std::size_t j = 0; j < width; ++j) {
    if (request.tokens[j] >= vocabulary_) {
      return InvalidArgumentError(
          fmt::format("propose: band {} row {}: token id {} is outside the {} rows "
                      "of the embedding",
                      request.band, j, request.tokens[j], vocabulary_));
    }
  }
  const std::int64_t last_context = band.positions.empty() ? -1 : band.positions.back();
  const std::int64_t limit =
      std::numeric_limits<std::int32_t>::max() - static_cast<std::int64_t>(width);
  if ((request.start <= last_context && !DM_FAULT(kRejectedRowsAppended)) ||
      request.start > limit) {
    return InvalidArgumentError(
        fmt::format("propose: band {}: the anchor's position {} must be above the last context "
                    "position {} and at most {}",
                    request.band, request.start, last_context, limit));
  }
  return index_mask_ ? CheckIndexMask(*index_mask_, band.positions, request) : OkStatus();
}

Status Sequences::CheckRequests(std::span<const BlockRequest> requests) const {
  if (requests.empty()) return InvalidArgumentError("propose: no band was given");
  std::vector<bool> used(bands_.size(), false);
  for (const BlockRequest& request : requests) {
    DM_RETURN_IF_ERROR(CheckBand(request.band));
    if (used[request.band]) {
      return InvalidArgumentError(fmt::format("propose: band {} is given twice", request.band));
    }
    used[request.band] = true;
    DM_RETURN_IF_ERROR(CheckRequest(request, requests.size(), requests.front().tokens.size()));
  }
  return OkStatus();
}

void Sequences::Append(std::size_t band, std::span<const std::int32_t> positions) {
  Sequence& to = bands_[band];
  to.positions.insert(to.positions.end(), positions.begin(), positions.end());
  to.new_rows += positions.size();
}

void Sequences::DropFront(std::size_t band, std::uint64_t rows) {
  if (rows == 0) return;
  Sequence& of = bands_[band];
  of.positions.erase(of.positions.begin(),
                     of.positions.begin() + static_cast<std::ptrdiff_t>(rows));
  of.new_rows = std::min<std::uint64_t>(of.new_rows, of.positions.size());
  const bool kept = DM_FAULT(kWatermarkNotReset);
  of.committed = kept ? std::min<std::uint64_t>(of.committed, of.positions.size()) : 0;
}

void Sequences::Reset(std::size_t band) {
  bands_[band].positions.clear();
  bands_[band].committed = 0;
  bands_[band].new_rows = 0;
}

void Sequences::EndPropose(std::span<const BlockRequest> requests) {
  for (const BlockRequest& request : requests) {
    Sequence& band = bands_[request.band];
    band.committed = band.positions.size();
    band.new_rows = 0;
  }
}

}  // namespace draftmark
