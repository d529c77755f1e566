#include "src/reference/session.h"

#include <utility>
#include <vector>

#include "src/backend/sequences.h"
#include "src/backend/session_plan.h"
#include "src/backend/session_rope.h"
#include "src/base/catch_exhausted.h"
#include "src/config/rope_table.h"
#include "src/faults/fault.h"
#include "src/reference/forward.h"
#include "src/reference/paged_cache.h"
#include "src/reference/precompute.h"
#include "src/reference/stage_buffers.h"

namespace draftmark::reference {
namespace {

template <typename N>
class ReferenceSession : public DraftSession {
 public:
  using Storage = typename N::Storage;

  ReferenceSession(const DrafterConfig& config, std::shared_ptr<const DrafterWeights> weights,
                   const SessionLimits& limits, const SessionPlan& plan, RopeTable rope,
                   std::unique_ptr<StageStorage<N>> storage, const PagedCache<Storage>& cache)
      : config_(config),
        weights_(std::move(weights)),
        rope_(std::move(rope)),
        storage_(std::move(storage)),
        precompute_(config_, *weights_, rope_, *storage_),
        forward_(config_, *weights_, rope_, *storage_),
        sequences_(limits, config, plan),
        taps_(limits.max_batch),
        cache_(cache),
        paged_(plan.paged) {}

  Status AppendContext(std::size_t band, std::span<const BFloat16> taps,
                       std::span<const std::int32_t> positions) override {
    return CatchExhausted("append", [&]() -> Status {
      DM_RETURN_IF_ERROR(sequences_.CheckAppend(band, taps.size(), positions));
      std::vector<BFloat16>& to = taps_[band];
      const std::size_t before = to.size();
      to.insert(to.end(), taps.begin(), taps.end());
      try {
        sequences_.Append(band, positions);
      } catch (...) {
        to.resize(before);
        throw;
      }
      return OkStatus();
    });
  }

  Status DropFront(std::size_t band, std::uint64_t rows) override {
    return CatchExhausted("drop", [&]() -> Status {
      DM_RETURN_IF_ERROR(sequences_.CheckDrop(band, rows));
      const auto first = taps_[band].begin();
      taps_[band].erase(first, first + static_cast<std::ptrdiff_t>(rows * config_.tap_width()));
      sequences_.DropFront(band, rows);
      return OkStatus();
    });
  }

  Status Reset(std::size_t band) override {
    return CatchExhausted("reset", [&]() -> Status {
      DM_RETURN_IF_ERROR(sequences_.CheckBand(band));
      taps_[band].clear();
      sequences_.Reset(band);
      return OkStatus();
    });
  }

  StatusOr<std::vector<BlockResult>> Propose(std::span<const BlockRequest> requests,
                                             StageSink* sink) override {
    return CatchExhausted("propose", [&] { return ProposeAll(requests, sink); });
  }

 private:
  StatusOr<std::vector<BlockResult>> ProposeAll(std::span<const BlockRequest> requests,
                                                StageSink* sink) {
    DM_RETURN_IF_ERROR(sequences_.CheckRequests(requests));
    StageRecorder<N> recorder(sink);
    std::vector<BandView> views;
    for (const BlockRequest& request : requests) {
      const Sequence& band = sequences_[request.band];
      views.push_back({request.band, band.block_table, taps_[request.band], band.positions,
                       band.committed, band.new_rows});
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
    sequences_.EndPropose(requests);
    if (DM_FAULT(kRejectedRowsAppended)) KeepRejectedRow(requests);
    return results;
  }

  // Of a mutant: the last row of each block becomes context, although nobody has verified it.
  void KeepRejectedRow(std::span<const BlockRequest> requests) {
    for (const BlockRequest& request : requests) {
      std::vector<BFloat16>& taps = taps_[request.band];
      if (taps.empty()) continue;
      const std::vector<BFloat16> row(taps.end() - static_cast<std::ptrdiff_t>(config_.tap_width()),
                                      taps.end());
      taps.insert(taps.end(), row.begin(), row.end());
      const auto position = static_cast<std::int32_t>(request.start) +
                            static_cast<std::int32_t>(request.tokens.size()) - 1;
      sequences_.Append(request.band, {&position, 1});
    }
  }

  const DrafterConfig config_;
  const std::shared_ptr<const DrafterWeights> weights_;
  const RopeTable rope_;
  const std::unique_ptr<StageStorage<N>> storage_;
  ContextPrecompute<N> precompute_;
  Forward<N> forward_;
  Sequences sequences_;
  std::vector<std::vector<BFloat16>> taps_;  // [context rows, L_t * h_t] of each band
  PagedCache<Storage> cache_;
  const bool paged_;
};

template <typename N>
StatusOr<std::unique_ptr<DraftSession>> Open(const DrafterConfig& config,
                                             std::shared_ptr<const DrafterWeights> weights,
                                             const SessionLimits& limits,
                                             const ReferenceOptions& options) {
  DM_ASSIGN_OR_RETURN(RopeTable rope, SessionRope(config));
  DM_ASSIGN_OR_RETURN(const SessionPlan plan,
                      PlanSession(config,
                                  {.markov = weights->markov.present(),
                                   .confidence = weights->confidence.present(),
                                   .convs = config.conv_kernel_size > 0,
                                   .selector = weights->selector.present()},
                                  limits,
                                  {.scratch_version = options.scratch_version,
                                   .layout = options.layout,
                                   .paged = options.paged,
                                   // As wide as it gets: limits do not depend on the precision.
                                   .cache_element_bytes = sizeof(double)}));
  DM_ASSIGN_OR_RETURN(std::unique_ptr<StageStorage<N>> storage,
                      StageStorage<N>::Create(plan.layout, options.poison, options.allocator));
  DM_ASSIGN_OR_RETURN(
      const PagedCache<typename N::Storage> cache,
      storage->AllocateCache(config.num_hidden_layers, plan.cache_blocks, config.kv_dim()));
  return std::unique_ptr<DraftSession>(std::make_unique<ReferenceSession<N>>(
      config, std::move(weights), limits, plan, std::move(rope), std::move(storage), cache));
}

}  // namespace

StatusOr<std::unique_ptr<DraftSession>> OpenReferenceSession(
    const DrafterConfig& config, std::shared_ptr<const DrafterWeights> weights,
    const SessionLimits& limits, Precision precision, const ReferenceOptions& options) {
  return CatchExhausted("open session", [&] {
    return precision == Precision::kExact
               ? Open<ExactNumeric>(config, std::move(weights), limits, options)
               : Open<Bf16Numeric>(config, std::move(weights), limits, options);
  });
}

}  // namespace draftmark::reference
