#include "src/reference/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "src/base/checked.h"
#include "src/reference/forward.h"
#include "src/reference/paged_cache.h"
#include "src/reference/precompute.h"
#include "src/reference/rope.h"
#include "src/reference/stage_buffers.h"
#include "src/scratch/dflash_borrows.h"

namespace draftmark::reference {
namespace {

// One sequence: what the host side of an engine keeps (spec/drafter.md section 3.8).
struct Band {
  std::vector<BFloat16> taps;
  std::vector<std::int32_t> positions;
  std::uint64_t committed = 0;
  std::uint64_t new_rows = 0;
  std::vector<std::uint32_t> block_table;
};

template <typename N>
class ReferenceSession : public DraftSession {
 public:
  using Storage = typename N::Storage;

  ReferenceSession(const DrafterConfig& config, std::shared_ptr<const DrafterWeights> weights,
                   const SessionLimits& limits, RopeTable rope,
                   std::unique_ptr<StageStorage<N>> storage, const PagedCache<Storage>& cache,
                   std::uint64_t blocks_per_band, const ReferenceOptions& options)
      : config_(config),
        weights_(std::move(weights)),
        limits_(limits),
        rope_(std::move(rope)),
        storage_(std::move(storage)),
        precompute_(config_, *weights_, rope_, *storage_),
        forward_(config_, *weights_, rope_, *storage_),
        bands_(limits.max_batch),
        cache_(cache),
        paged_(options.paged) {
    // Blocks are dealt out from the end and in turns, so that no band's table is the identity.
    std::uint32_t next = static_cast<std::uint32_t>(cache_.blocks() - 1);
    for (std::uint64_t i = 0; i < blocks_per_band; ++i) {
      for (Band& band : bands_) band.block_table.push_back(next--);
    }
  }

  Status AppendContext(std::size_t band_index, std::span<const BFloat16> taps,
                       std::span<const std::int32_t> positions) override {
    DM_RETURN_IF_ERROR(CheckBand(band_index));
    Band& band = bands_[band_index];
    if (taps.size() != positions.size() * config_.tap_width()) {
      return InvalidArgumentError(
          fmt::format("band {}: {} context rows need {} tap values each, found {} in all",
                      band_index, positions.size(), config_.tap_width(), taps.size()));
    }
    if (band.positions.size() + positions.size() > limits_.max_context) {
      return ResourceExhaustedError(
          fmt::format("band {}: {} + {} context rows exceed the session's {}", band_index,
                      band.positions.size(), positions.size(), limits_.max_context));
    }
    std::int64_t last = band.positions.empty() ? -1 : band.positions.back();
    for (const std::int32_t position : positions) {
      if (position <= last) {
        return InvalidArgumentError(
            fmt::format("band {}: context positions must ascend from 0, found {} after {}",
                        band_index, position, last));
      }
      last = position;
    }
    band.taps.insert(band.taps.end(), taps.begin(), taps.end());
    band.positions.insert(band.positions.end(), positions.begin(), positions.end());
    band.new_rows += positions.size();
    return OkStatus();
  }

  Status DropFront(std::size_t band_index, std::uint64_t rows) override {
    DM_RETURN_IF_ERROR(CheckBand(band_index));
    Band& band = bands_[band_index];
    if (rows > band.positions.size()) {
      return InvalidArgumentError(fmt::format("band {}: cannot drop {} of {} context rows",
                                              band_index, rows, band.positions.size()));
    }
    if (rows == 0) return OkStatus();
    band.taps.erase(band.taps.begin(),
                    band.taps.begin() + static_cast<std::ptrdiff_t>(rows * config_.tap_width()));
    band.positions.erase(band.positions.begin(),
                         band.positions.begin() + static_cast<std::ptrdiff_t>(rows));
    band.new_rows = std::min<std::uint64_t>(band.new_rows, band.positions.size());
    // Every row has a new logical index, so all of them are written again; positions stay.
    band.committed = 0;
    return OkStatus();
  }

  Status Reset(std::size_t band_index) override {
    DM_RETURN_IF_ERROR(CheckBand(band_index));
    Band& band = bands_[band_index];
    band.taps.clear();
    band.positions.clear();
    band.committed = 0;
    band.new_rows = 0;
    return OkStatus();
  }

  StatusOr<std::vector<BlockResult>> Propose(std::span<const BlockRequest> requests,
                                             StageSink* sink) override {
    DM_RETURN_IF_ERROR(CheckRequests(requests));
    StageRecorder<N> recorder(sink);
    std::vector<BandView> views;
    for (const BlockRequest& request : requests) {
      const Band& band = bands_[request.band];
      views.push_back({request.band, band.block_table, band.taps, band.positions, band.committed,
                       band.new_rows});
    }
    std::vector<BlockResult> results;
    if (paged_) {
      precompute_.Run(views, cache_, recorder);
      DM_ASSIGN_OR_RETURN(results, forward_.RunPaged(views, requests, cache_, recorder));
    } else {
      precompute_.ProjectOnly(views.front(), recorder);
      DM_ASSIGN_OR_RETURN(results,
                          forward_.RunContiguous(views.front(), requests.front(), recorder));
    }
    for (const BlockRequest& request : requests) {
      Band& band = bands_[request.band];
      band.committed = band.positions.size();
      band.new_rows = 0;
    }
    return results;
  }

 private:
  Status CheckBand(std::size_t band) const {
    if (band < bands_.size()) return OkStatus();
    return InvalidArgumentError(
        fmt::format("band {}: the session has {} band(s)", band, bands_.size()));
  }

  Status CheckRequests(std::span<const BlockRequest> requests) const {
    if (requests.empty()) return InvalidArgumentError("propose: no band was given");
    std::vector<bool> used(bands_.size(), false);
    const std::size_t width = requests.front().tokens.size();
    for (const BlockRequest& request : requests) {
      DM_RETURN_IF_ERROR(CheckBand(request.band));
      if (used[request.band]) {
        return InvalidArgumentError(fmt::format("propose: band {} is given twice", request.band));
      }
      used[request.band] = true;
      if (request.tokens.size() != width || width < 2 || width > limits_.gamma) {
        return InvalidArgumentError(fmt::format(
            "propose: band {} has {} block rows; all bands need the same number, 2 to {}",
            request.band, request.tokens.size(), limits_.gamma));
      }
      if (paged_) {
        // Of the layout that was asked for: one of upstream's holds fewer slots than max_batch *
        // gamma.
        DM_RETURN_IF_ERROR(
            CheckBlock(storage_->layout(), requests.size(), width).Annotated("propose"));
      } else {
        DM_RETURN_IF_ERROR(
            CheckNonPagedBlock(storage_->layout(), bands_[request.band].positions.size(), width)
                .Annotated(fmt::format("propose: band {}", request.band)));
      }
      for (std::size_t j = 0; j < width; ++j) {
        if (request.tokens[j] >= config_.vocab_size) {
          return InvalidArgumentError(
              fmt::format("propose: band {} row {}: token id {} is outside the {} rows "
                          "of the embedding",
                          request.band, j, request.tokens[j], config_.vocab_size));
        }
      }
      const std::int64_t last_context =
          bands_[request.band].positions.empty() ? -1 : bands_[request.band].positions.back();
      const std::int64_t limit =
          std::numeric_limits<std::int32_t>::max() - static_cast<std::int64_t>(width);
      if (request.start <= last_context || request.start > limit) {
        return InvalidArgumentError(fmt::format(
            "propose: band {}: the anchor's position {} must be above the last context position "
            "{} and at most {}",
            request.band, request.start, last_context, limit));
      }
    }
    return OkStatus();
  }

  const DrafterConfig config_;
  const std::shared_ptr<const DrafterWeights> weights_;
  const SessionLimits limits_;
  const RopeTable rope_;
  const std::unique_ptr<StageStorage<N>> storage_;
  ContextPrecompute<N> precompute_;
  Forward<N> forward_;
  std::vector<Band> bands_;
  PagedCache<Storage> cache_;
  const bool paged_;
};

// What the session needs from the scratch.
StatusOr<DflashScratchLayout> MakeLayout(const DrafterConfig& config, const DrafterWeights& weights,
                                         const SessionLimits& limits,
                                         const ReferenceOptions& options) {
  if (weights.selector.present() && config.selector_top_k > kSelectorTopK) {
    return InvalidArgumentError(
        fmt::format("selector_top_k {}: the scratch holds {} candidates per row",
                    config.selector_top_k, kSelectorTopK));
  }
  DflashScratchRequest request;
  request.geometry = DflashGeometry::FromConfig(config);
  request.tensors.markov = weights.markov.present();
  request.tensors.confidence = weights.confidence.present();
  request.tensors.convs = config.conv_kernel_size > 0;
  request.tensors.selector = weights.selector.present();
  request.version = options.scratch_version;
  request.layout = options.layout;
  request.ctx_window = limits.ctx_window;
  request.max_batch = limits.max_batch;
  request.gamma = limits.gamma;
  return DflashScratchLayout::Create(request);
}

template <typename N>
StatusOr<std::unique_ptr<DraftSession>> Open(const DrafterConfig& config,
                                             std::shared_ptr<const DrafterWeights> weights,
                                             const SessionLimits& limits,
                                             const ReferenceOptions& options,
                                             std::uint64_t blocks_per_band) {
  DM_ASSIGN_OR_RETURN(RopeTable rope, MakeRopeTable(config.rope, config.head_dim));
  DM_ASSIGN_OR_RETURN(const DflashScratchLayout layout,
                      MakeLayout(config, *weights, limits, options));
  DM_ASSIGN_OR_RETURN(std::unique_ptr<StageStorage<N>> storage,
                      StageStorage<N>::Create(layout, options.poison, options.allocator));
  // One block more than the bands need, as an engine has (block 0 stays unused).
  const std::uint64_t blocks = blocks_per_band * limits.max_batch + 1;
  if (layout.Field("slot_mapping_dev").dtype == DType::kI32 &&
      blocks >
          static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()) / kCacheBlockRows) {
    return OutOfRangeError(
        fmt::format("session limits: a cache of {} blocks has slots beyond the 32 bits of this "
                    "layout's slot_mapping_dev",
                    blocks));
  }
  DM_ASSIGN_OR_RETURN(const PagedCache<typename N::Storage> cache,
                      storage->AllocateCache(config.num_hidden_layers, blocks, config.kv_dim()));
  return std::unique_ptr<DraftSession>(
      std::make_unique<ReferenceSession<N>>(config, std::move(weights), limits, std::move(rope),
                                            std::move(storage), cache, blocks_per_band, options));
}

}  // namespace

StatusOr<std::unique_ptr<DraftSession>> OpenReferenceSession(
    const DrafterConfig& config, std::shared_ptr<const DrafterWeights> weights,
    const SessionLimits& limits, Precision precision, const ReferenceOptions& options) {
  if (!options.paged && limits.max_batch != 1) {
    return InvalidArgumentError(fmt::format(
        "session limits: max_batch {}: the path without a cache has one band", limits.max_batch));
  }
  if (limits.max_batch == 0 || limits.ctx_window == 0 || limits.gamma < 2) {
    return InvalidArgumentError(fmt::format(
        "session limits: max_batch {} and ctx_window {} must be above 0, gamma {} at least 2",
        limits.max_batch, limits.ctx_window, limits.gamma));
  }
  const CheckedU64 blocks_per_band =
      CeilDiv(CheckedU64(limits.max_context) + limits.gamma + 1, kCacheBlockRows);
  const CheckedU64 cache_bytes = (blocks_per_band * limits.max_batch + 1) * kCacheBlockRows *
                                 config.kv_dim() * config.num_hidden_layers * 2 * sizeof(double);
  if (!cache_bytes.ok() || (blocks_per_band * limits.max_batch).value() > UINT32_MAX - 1) {
    return OutOfRangeError(
        fmt::format("session limits: a cache of {} bands of {} context rows is too large",
                    limits.max_batch, limits.max_context));
  }
  return precision == Precision::kExact ? Open<ExactNumeric>(config, std::move(weights), limits,
                                                             options, blocks_per_band.value())
                                        : Open<Bf16Numeric>(config, std::move(weights), limits,
                                                            options, blocks_per_band.value());
}

}  // namespace draftmark::reference
