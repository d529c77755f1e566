#include "kernels/draft/cuda_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "kernels/draft/block_path.h"
#include "kernels/draft/chain_runner.h"
#include "kernels/draft/chain_turn.h"
#include "kernels/draft/context_passes.h"
#include "kernels/draft/context_path.h"
#include "kernels/draft/draft_graphs.h"
#include "kernels/draft/draft_inputs.h"
#include "kernels/draft/pass_rows.h"
#include "kernels/draft/session_checks.h"
#include "kernels/draft/session_memory.h"
#include "kernels/draft/stage_taps.h"
#include "kernels/draft/tail.h"
#include "src/backend/sequences.h"
#include "src/backend/session_rope.h"
#include "src/base/catch_exhausted.h"
#include "src/cuda/cuda_status.h"
#include "src/cuda/device_buffer.h"
#include "src/cuda/stream.h"
#include "src/faults/fault.h"
#include "src/scratch/dflash_borrows.h"

namespace draftmark::kernels {
namespace {

class Session final : public CudaDraftSession {
 public:
  Session(const DrafterConfig& config, std::shared_ptr<const DraftWeights> weights,
          const SessionLimits& limits, const SessionPlan& plan, RopeTable rope,
          Allocator& allocator, std::unique_ptr<SessionStorage> storage,
          std::unique_ptr<ChainTurn> turn, CublasLt* library, const CudaSessionOptions& options)
      : config_(config),
        weights_(std::move(weights)),
        limits_(limits),
        plan_(plan),
        longest_pass_(LongestPass(plan)),
        allocator_(allocator),
        storage_(std::move(storage)),
        turn_(std::move(turn)),
        parts_{config_,           weights_->get(), plan_,   storage_->scratch(), storage_->view(),
               storage_->pools(), std::move(rope), library, storage_->stream(),  options.fast},
        inputs_(parts_, limits, storage_->inputs()),
        sequences_(limits, config, plan),
        passes_(parts_, inputs_, sequences_, longest_pass_),
        graphs_on_(options.graphs && plan.paged),
        graphs_(parts_, inputs_, storage_->inputs()) {
    enqueued_.reserve(limits.max_batch);  // so that nothing fails behind the launches
  }

  // What is still on the stream may use memory that the members free.
  ~Session() override {
    // Whoever comes next must not take this session's last error for his own.
    if (cudaStreamSynchronize(parts_.stream) != cudaSuccess) (void)cudaGetLastError();
  }

  // The border: where host memory ends, each answers so.
  Status AppendContext(std::size_t band, std::span<const BFloat16> taps,
                       std::span<const std::int32_t> positions) override {
    return CatchExhausted("append", [&] { return Append(band, taps, positions); });
  }
  Status DropFront(std::size_t band, std::uint64_t rows) override {
    return CatchExhausted("drop", [&] { return DropRows(band, rows); });
  }
  Status Reset(std::size_t band) override {
    return CatchExhausted("reset", [&]() -> Status {
      DM_RETURN_IF_ERROR(sequences_.CheckBand(band));
      sequences_.Reset(band);
      return OkStatus();
    });
  }
  StatusOr<std::vector<BlockResult>> Propose(std::span<const BlockRequest> requests,
                                             StageSink* sink) override {
    return CatchExhausted("propose", [&]() -> StatusOr<std::vector<BlockResult>> {
      DM_RETURN_IF_ERROR(sequences_.CheckRequests(requests));
      const std::vector<BandView> views = ViewsOf(requests);
      return AllOrNothing(views, [&] { return ProposeAll(requests, views, sink); });
    });
  }
  Status Prepare(std::uint64_t width, std::uint64_t bands) override {
    return CatchExhausted("prepare", [&] { return PrepareShape(width, bands); });
  }
  Status Enqueue(std::span<const BlockRequest> requests) override {
    return CatchExhausted("enqueue", [&]() -> Status {
      DM_RETURN_IF_ERROR(sequences_.CheckRequests(requests));
      const std::vector<BandView> views = ViewsOf(requests);
      return AllOrNothing(views, [&]() -> Status {
        DM_RETURN_IF_ERROR(EnqueueAll(requests, views, nullptr));
        return EndPropose(requests);
      });
    });
  }
  StatusOr<std::vector<BlockResult>> Collect() override {
    return CatchExhausted("collect", [&] { return CollectEnqueued(); });
  }
  Status Reopen(std::size_t band, std::uint64_t rows) override {
    return CatchExhausted("reopen", [&] { return ReopenRows(band, rows); });
  }
  void TimeLaunches(CudaEvent* before, CudaEvent* behind) override {
    before_launches_ = before;
    behind_launches_ = behind;
  }
  std::uint64_t PassRows(std::uint64_t width, std::uint64_t bands) const override {
    return kernels::PassRows(longest_pass_, config_, width, bands);
  }

  SessionMemory memory() const override;
  const SessionPlan& plan() const override { return plan_; }
  const DraftParts& parts() const override { return parts_; }
  std::uint64_t replays() const override { return replays_; }
  std::uint64_t eager_runs() const override { return eager_runs_; }

 private:
  Status Append(std::size_t band, std::span<const BFloat16> taps,
                std::span<const std::int32_t> positions);
  Status DropRows(std::size_t band, std::uint64_t rows);
  Status ReopenRows(std::size_t band, std::uint64_t rows);
  Status PrepareShape(std::uint64_t width, std::uint64_t bands);
  StatusOr<std::vector<BlockResult>> ProposeAll(std::span<const BlockRequest> requests,
                                                std::span<const BandView> views, StageSink* sink);
  StatusOr<std::vector<BlockResult>> CollectEnqueued();

  std::vector<BandView> ViewsOf(std::span<const BlockRequest> requests) const;
  // After an error of `draft` the rows that it took into the cache count as new again: whoever was
  // refused comes again with the same requests, and sees the same drafts and stages.
  template <typename Draft>
  auto AllOrNothing(std::span<const BandView> views, const Draft& draft) -> decltype(draft()) {
    auto result = CatchExhausted("draft", draft);
    if (!result.ok()) {
      for (const BandView& view : views) sequences_.Commit(view.band, view.committed);
      enqueued_.clear();  // else the next Collect would give what was refused
    }
    return result;
  }
  // The launches of a draft, as a graph holds them. `pass` may be null.
  Status Launches(const BlockShape& shape, const ContextPass* pass, StageTaps* taps);
  Status EnqueuePaged(std::span<const BandView> views, std::span<const BlockRequest> requests,
                      StageTaps* taps);
  Status EnqueueContiguous(const BandView& view, const BlockRequest& request, StageTaps* taps);
  // Rows count as drafted only with EndPropose, when nothing of the host can fail any more.
  Status EnqueueAll(std::span<const BlockRequest> requests, std::span<const BandView> views,
                    StageTaps* taps);
  Status EndPropose(std::span<const BlockRequest> requests) {
    sequences_.EndPropose(requests);
    return DM_FAULT(kRejectedRowsAppended) ? KeepRejectedRows(requests) : OkStatus();
  }
  // Of the graphs for these requests.
  DraftGraphs::Shape ShapeOf(std::span<const BlockRequest> requests) const {
    DraftGraphs::Shape shape = {requests.front().tokens.size(), requests.size()};
    if (DM_FAULT(kReplayAfterWidthChange)) shape.width = FaultFirst(this, shape.width);
    return shape;
  }
  Status Capture(std::uint64_t width, std::uint64_t bands);
  // Of a mutant: the last row of each block becomes context, although nobody has verified it.
  Status KeepRejectedRows(std::span<const BlockRequest> requests) {
    for (const BlockRequest& request : requests) {
      const std::uint64_t rows = sequences_[request.band].positions.size();
      if (rows == 0 || rows == limits_.max_context) continue;
      const BFloat16* const last = inputs_.RunFrom(request.band, rows - 1, 1).taps;
      const BFloat16* const next = inputs_.RunFrom(request.band, rows, 1).taps;
      DM_RETURN_IF_ERROR(CopyOnDevice({const_cast<BFloat16*>(next)}, {const_cast<BFloat16*>(last)},
                                      config_.tap_width() * sizeof(BFloat16), parts_.stream));
      const auto position = static_cast<std::int32_t>(
          request.start + static_cast<std::int64_t>(request.tokens.size()) - 1);
      sequences_.Append(request.band, {&position, 1});
    }
    return OkStatus();
  }
  Status InTurn(const std::function<Status()>& enqueue) {
    return turn_ != nullptr ? turn_->Take(enqueue) : enqueue();
  }

  const DrafterConfig config_;
  const std::shared_ptr<const DraftWeights> weights_;
  const SessionLimits limits_;
  const SessionPlan plan_;
  const std::uint64_t longest_pass_;
  Allocator& allocator_;
  const std::unique_ptr<SessionStorage> storage_;
  const std::unique_ptr<ChainTurn> turn_;  // null: no kernel of this session needs all SMs
  const DraftParts parts_;
  DraftInputs inputs_;
  Sequences sequences_;
  ContextPasses passes_;
  const bool graphs_on_;
  DraftGraphs graphs_;
  std::vector<std::size_t> enqueued_;  // bands of the last Enqueue; empty: nothing to collect
  std::uint64_t enqueued_width_ = 0;
  std::vector<std::vector<double>> margins_;  // of the last propose with a sink
  std::uint64_t replays_ = 0;
  std::uint64_t eager_runs_ = 0;
  CudaEvent* before_launches_ = nullptr;
  CudaEvent* behind_launches_ = nullptr;
};

Status Session::Append(std::size_t band, std::span<const BFloat16> taps,
                       std::span<const std::int32_t> positions) {
  DM_RETURN_IF_ERROR(sequences_.CheckAppend(band, taps.size(), positions));
  std::vector<BFloat16> rotated;
  if (DM_FAULT(kTapLayerOffByOne)) {
    rotated.assign(taps.begin(), taps.end());
    std::rotate(rotated.begin(),
                rotated.begin() + static_cast<std::ptrdiff_t>(
                                      std::min(config_.target_hidden_size, rotated.size())),
                rotated.end());
    taps = rotated;
  }
  DM_RETURN_IF_ERROR(inputs_.AppendTaps(band, sequences_[band].positions.size(), taps));
  sequences_.Append(band, positions);
  return OkStatus();
}

Status Session::DropRows(std::size_t band, std::uint64_t rows) {
  DM_RETURN_IF_ERROR(sequences_.CheckDrop(band, rows));
  inputs_.DropFront(band, rows);
  sequences_.DropFront(band, rows);
  return OkStatus();
}

Status Session::ReopenRows(std::size_t band, std::uint64_t rows) {
  DM_RETURN_IF_ERROR(sequences_.CheckBand(band));
  const std::uint64_t committed = sequences_[band].committed;
  if (rows > committed) {
    return InvalidArgumentError(fmt::format(
        "band {}: cannot reopen {} of {} context rows in the cache", band, rows, committed));
  }
  sequences_.Commit(band, committed - rows);
  return OkStatus();
}

std::vector<BandView> Session::ViewsOf(std::span<const BlockRequest> requests) const {
  std::vector<BandView> views;
  for (const BlockRequest& request : requests) {
    const Sequence& band = sequences_[request.band];
    views.push_back({.band = request.band,
                     .block_table = band.block_table,
                     .context_positions = band.positions,
                     .committed = band.committed,
                     .new_rows = band.new_rows});
  }
  return views;
}

Status Session::Launches(const BlockShape& shape, const ContextPass* pass, StageTaps* taps) {
  const bool chained = parts_.fast && shape.paged && ChainsFit(parts_, shape.rows());
  // With stages those of the pass come first.
  const bool together =
      chained && pass != nullptr && taps == nullptr && ChainTakesContext(parts_, shape, *pass);
  if (pass != nullptr && !together) DM_RETURN_IF_ERROR(RunContextPass(parts_, *pass, taps));
  if (taps != nullptr) {
    taps->EmitHeld("fc", {config_.hidden_size});
    taps->EmitHeld("hidden_norm", {config_.hidden_size});
  }
  ChainRunner runner(parts_, /*at_once=*/taps != nullptr);
  ChainRunner* const chain = chained ? &runner : nullptr;
  BlockPath block(parts_, shape, chain, taps, together ? pass : nullptr);
  DM_RETURN_IF_ERROR(block.RunLayers());
  Tail tail(parts_, shape, chain, taps, block.pending());
  DM_RETURN_IF_ERROR(tail.Run());
  margins_ = tail.margins();
  return OkStatus();
}

Status Session::EnqueuePaged(std::span<const BandView> views,
                             std::span<const BlockRequest> requests, StageTaps* taps) {
  const BlockShape shape = {.bands = requests.size(), .width = requests.front().tokens.size()};
  const bool replay = graphs_on_ && taps == nullptr;
  const std::uint64_t most = PassRows(shape.width, shape.bands);
  DM_ASSIGN_OR_RETURN(const std::vector<ContextRow> rows, passes_.RunAllButLast(views, most, taps));
  const std::uint64_t padded = PaddedPassRows(rows.size(), most);
  const std::vector<StageTaps::PassRow> shown = ShownRows(views, rows);
  const ContextPass pass = {.taps = inputs_.staging(), .rows = padded, .shown = shown};
  const auto send = [&](InputSlot& slot) -> Status {
    if (!rows.empty()) {
      DM_RETURN_IF_ERROR(inputs_.SendPass(views, rows, padded, /*gather=*/true, slot));
    }
    return inputs_.SendBlock(views, requests, slot);
  };
  DM_RETURN_IF_ERROR(inputs_.WithSlot(send));

  if (before_launches_ != nullptr) DM_RETURN_IF_ERROR(before_launches_->Record(parts_.stream));
  if (replay) {
    ++replays_;
    DM_RETURN_IF_ERROR(graphs_.Launch(ShapeOf(requests), rows.empty() ? 0 : padded, most));
  } else {
    ++eager_runs_;
    DM_RETURN_IF_ERROR(Launches(shape, rows.empty() ? nullptr : &pass, taps));
  }
  return behind_launches_ == nullptr ? OkStatus() : behind_launches_->Record(parts_.stream);
}

Status Session::EnqueueContiguous(const BandView& view, const BlockRequest& request,
                                  StageTaps* taps) {
  const std::uint64_t context = view.context_positions.size();
  DM_RETURN_IF_ERROR(inputs_.WithSlot(
      [&](InputSlot& slot) { return inputs_.SendContiguous(view, request, slot); }));
  for (std::uint64_t index = 0; index < context;) {
    const DraftInputs::TapRun run = inputs_.RunFrom(view.band, index, context - index);
    const std::vector<StageTaps::PassRow> shown =
        ShownRows({&view, 1}, RowsFrom(0, index, run.rows));
    DM_RETURN_IF_ERROR(ProjectTaps(
        parts_, {.taps = run.taps, .rows = run.rows, .first = index, .shown = shown}, taps));
    index += run.rows;
  }
  ++eager_runs_;
  return Launches({.bands = 1, .width = request.tokens.size(), .first = context, .paged = false},
                  nullptr, taps);
}

Status Session::EnqueueAll(std::span<const BlockRequest> requests, std::span<const BandView> views,
                           StageTaps* taps) {
  margins_.clear();  // a replay computes none
  // From here on the tokens of an earlier Enqueue are overwritten.
  enqueued_.clear();
  // First: it overwrites the inputs on the device.
  const DraftGraphs::Shape shape = ShapeOf(requests);
  if (plan_.paged && graphs_on_ && taps == nullptr && !graphs_.Has(shape)) {
    DM_RETURN_IF_ERROR(PrepareShape(shape.width, shape.bands));
  }
  DM_RETURN_IF_ERROR(InTurn([&] {
    return plan_.paged ? EnqueuePaged(views, requests, taps)
                       : EnqueueContiguous(views.front(), requests.front(), taps);
  }));
  // Behind the copies to the host, in a graph or not.
  DM_RETURN_IF_ERROR(
      storage_->events().Record(parts_.scratch.draft_tokens_event, HandleOf(parts_.stream)));
  storage_->inputs().Mark();
  if (DM_FAULT(kSteadyStateSync)) DM_RETURN_IF_ERROR(SynchronizeDevice());
  if (DM_FAULT(kSteadyStateAllocation)) {
    DM_RETURN_IF_ERROR(DeviceBuffer::Create(allocator_, {.bytes = 4, .tag = "staging"}).status());
  }
  for (const BlockRequest& request : requests) enqueued_.push_back(request.band);
  enqueued_width_ = requests.front().tokens.size();
  return OkStatus();
}

StatusOr<std::vector<BlockResult>> Session::CollectEnqueued() {
  if (enqueued_.empty()) return FailedPreconditionError("collect: nothing was enqueued");
  DM_RETURN_IF_ERROR(storage_->events().Wait(parts_.scratch.draft_tokens_event));
  storage_->inputs().MarkReached();
  const auto* const tokens = reinterpret_cast<const std::uint32_t*>(
      parts_.scratch.draft_tokens_host_pinned.load(std::memory_order_relaxed));
  const std::uint64_t first = Tail::FirstDraftRow(config_);
  std::vector<BlockResult> results(enqueued_.size());
  for (std::size_t b = 0; b < results.size(); ++b) {
    const std::uint64_t begin = b * enqueued_width_ + first;
    const std::uint64_t end = (b + 1) * enqueued_width_;
    results[b].draft_tokens.assign(tokens + begin, tokens + end);
    if (DM_FAULT(kRowZeroUsed) && first == 1) {
      results[b].draft_tokens.assign(tokens + begin - 1, tokens + end - 1);
    }
    if (DM_FAULT(kRowZeroDropped) && first == 0) {
      results[b].draft_tokens.erase(results[b].draft_tokens.begin());
    }
    if (b < margins_.size()) results[b].margin = margins_[b];
    if (!weights_->present().confidence) continue;
    for (std::uint64_t row = begin; row < end; ++row) {
      results[b].confidence.push_back(parts_.workspace.conf_out_host[row].ToDouble());
    }
  }
  enqueued_.clear();
  return results;
}

StatusOr<std::vector<BlockResult>> Session::ProposeAll(std::span<const BlockRequest> requests,
                                                       std::span<const BandView> views,
                                                       StageSink* sink) {
  if (sink == nullptr) {
    DM_RETURN_IF_ERROR(EnqueueAll(requests, views, nullptr));
    DM_ASSIGN_OR_RETURN(std::vector<BlockResult> results, CollectEnqueued());
    DM_RETURN_IF_ERROR(EndPropose(requests));
    return results;
  }
  StageTaps taps(*sink, views, parts_.stream);
  DM_RETURN_IF_ERROR(EnqueueAll(requests, views, &taps));
  DM_ASSIGN_OR_RETURN(std::vector<BlockResult> results, CollectEnqueued());
  for (std::size_t b = 0; b < results.size(); ++b) {
    const BlockResult& result = results[b];
    const Shape shape = {result.draft_tokens.size()};
    const std::vector<double> tokens(result.draft_tokens.begin(), result.draft_tokens.end());
    taps.recorder().EmitValues(requests[b].band, "draft_tokens", shape, tokens);
    taps.recorder().EmitValues(requests[b].band, "margin", shape, result.margin);
  }
  DM_RETURN_IF_ERROR(EndPropose(requests));
  return results;
}

Status Session::PrepareShape(std::uint64_t width, std::uint64_t bands) {
  if (!graphs_on_) return OkStatus();
  if (!DM_FAULT(kSlotBufferTooSmall)) {
    DM_RETURN_IF_ERROR(CheckBlock(plan_.layout, bands, width).Annotated("prepare"));
  }
  if (width < 2) return InvalidArgumentError("prepare: a block has at least 2 rows, found 1");
  return InTurn([&] { return Capture(width, bands); });
}

Status Session::Capture(std::uint64_t width, std::uint64_t bands) {
  enqueued_.clear();  // its tokens are overwritten
  return graphs_.Capture({width, bands}, PassRows(width, bands),
                         [this](const BlockShape& shape, const ContextPass* pass) {
                           return Launches(shape, pass, nullptr);
                         });
}

SessionMemory Session::memory() const {
  const HarnessWorkspaceLayout& workspace = storage_->workspace_layout();
  return {.weights = weights_->bytes(),
          .cache = storage_->cache_bytes(),
          .scratch = plan_.layout.device_bytes(),
          .workspace = workspace.device_bytes(),
          .scratch_pinned = plan_.layout.host_pinned_bytes(),
          .workspace_pinned = workspace.host_pinned_bytes()};
}

StatusOr<std::unique_ptr<CudaDraftSession>> Open(const DrafterConfig& config,
                                                 std::shared_ptr<const DraftWeights> weights,
                                                 const SessionLimits& limits, Allocator& allocator,
                                                 CublasLt* library,
                                                 const CudaSessionOptions& options) {
  DM_RETURN_IF_ERROR(CheckKernelLimits(config, *weights, limits, options.paged));
  DM_ASSIGN_OR_RETURN(RopeTable rope, SessionRope(config));
  DM_ASSIGN_OR_RETURN(const SessionPlan plan,
                      PlanSession(config, weights->present(), limits,
                                  {.scratch_version = options.scratch_version,
                                   .layout = options.layout,
                                   .paged = options.paged,
                                   .batched_heads = limits.max_batch > 1,
                                   .cache_element_bytes = sizeof(BFloat16)}));
  DM_ASSIGN_OR_RETURN(std::unique_ptr<SessionStorage> storage,
                      SessionStorage::Create(config, *weights, plan, limits, allocator,
                                             library != nullptr, options.fast, rope));
  std::unique_ptr<ChainTurn> turn;
  if (options.fast) {
    DM_ASSIGN_OR_RETURN(turn, ChainTurn::Join(storage->stream()));
  }
  return std::unique_ptr<CudaDraftSession>(
      std::make_unique<Session>(config, std::move(weights), limits, plan, std::move(rope),
                                allocator, std::move(storage), std::move(turn), library, options));
}

}  // namespace

StatusOr<std::unique_ptr<CudaDraftSession>> OpenCudaSession(
    const DrafterConfig& config, std::shared_ptr<const DraftWeights> weights,
    const SessionLimits& limits, Allocator& allocator, CublasLt* library,
    const CudaSessionOptions& options) {
  return CatchExhausted("open session", [&] {
    return Open(config, std::move(weights), limits, allocator, library, options);
  });
}

}  // namespace draftmark::kernels
