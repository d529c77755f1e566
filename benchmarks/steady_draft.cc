#include "benchmarks/steady_draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <span>
#include <utility>

#include "kernels/draft/draft_weights.h"
#include "src/cases/generated_data.h"

namespace draftmark {
namespace {

constexpr DataGenerator kGenerator = {.seed = 1};
constexpr std::size_t kWarmUps = 10;
// Rows of random taps on the host. A longer context repeats them: its keys still differ by their
// positions, and times do not depend on values.
constexpr std::uint64_t kTapRows = 256;
// Rows of a pass while the context is filled; what README and spec take for an engine.
constexpr std::uint64_t kContextWindow = 4096;

}  // namespace

StatusOr<std::unique_ptr<SteadyDraft>> SteadyDraft::Open(
    BenchmarkGpu& gpu, const DraftCase& c, const kernels::CudaSessionOptions& options) {
  return Open(gpu, c, options, /*long_tail=*/false);
}

StatusOr<std::unique_ptr<SteadyDraft>> SteadyDraft::OpenForContext(
    BenchmarkGpu& gpu, const DraftCase& c, const kernels::CudaSessionOptions& options) {
  return Open(gpu, c, options, /*long_tail=*/true);
}

StatusOr<std::unique_ptr<SteadyDraft>> SteadyDraft::Open(BenchmarkGpu& gpu, const DraftCase& c,
                                                         const kernels::CudaSessionOptions& options,
                                                         bool long_tail) {
  DM_ASSIGN_OR_RETURN(CudaEvent before, CudaEvent::Create(CudaEvent::Timing::kOn));
  DM_ASSIGN_OR_RETURN(CudaEvent behind, CudaEvent::Create(CudaEvent::Timing::kOn));
  std::unique_ptr<SteadyDraft> draft(new SteadyDraft(gpu, c, std::move(before), std::move(behind)));
  DM_RETURN_IF_ERROR(draft->OpenSession(options, long_tail));
  DM_RETURN_IF_ERROR(draft->FillContext());
  return draft;
}

Status SteadyDraft::OpenSession(const kernels::CudaSessionOptions& options, bool long_tail) {
  const DraftShape& shape = case_.shape;
  DM_ASSIGN_OR_RETURN(auto weights, kernels::DraftWeights::Generate(
                                        case_.config, kGenerator, allocator_, gpu_.stream().get()));
  const std::uint64_t rows = shape.context + shape.new_rows;
  DM_ASSIGN_OR_RETURN(
      session_,
      kernels::OpenCudaSession(case_.config, std::move(weights),
                               {.max_batch = shape.bands,
                                .max_context = rows,
                                .ctx_window = std::clamp<std::uint64_t>(rows, 1, kContextWindow),
                                .gamma = shape.gamma},
                               allocator_, gpu_.cublaslt(), options));
  const std::uint64_t most = session_->PassRows(shape.gamma, shape.bands);
  if (long_tail) {
    if (shape.new_rows > most) return OkStatus();
    return InvalidArgumentError(fmt::format(
        "new: {} rows go through the draft's own pass, which takes {}", shape.new_rows, most));
  }
  if (shape.new_rows * shape.bands > most) {
    return InvalidArgumentError(fmt::format(
        "new: {} rows of {} band(s) are more than the {} that a draft takes in its graph",
        shape.new_rows, shape.bands, most));
  }
  return OkStatus();
}

Status SteadyDraft::Append(std::span<const BFloat16> taps, std::uint64_t first,
                           std::uint64_t rows) {
  const std::uint64_t width = case_.config.tap_width();
  for (std::uint64_t band = 0; band < case_.shape.bands; ++band) {
    for (std::uint64_t done = 0; done < rows;) {
      const std::uint64_t n = std::min<std::uint64_t>(rows - done, taps.size() / width);
      std::vector<std::int32_t> positions(n);
      std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(first + done));
      DM_RETURN_IF_ERROR(session_->AppendContext(band, taps.first(n * width), positions));
      done += n;
    }
  }
  return OkStatus();
}

Status SteadyDraft::FillContext() {
  const DrafterConfig& config = case_.config;
  const DraftShape& shape = case_.shape;
  for (std::uint64_t band = 0; band < shape.bands; ++band) {
    BlockRequest request = {.band = band,
                            .tokens = {},
                            .start = static_cast<std::int64_t>(shape.context + shape.new_rows)};
    request.tokens.assign(shape.gamma,
                          static_cast<std::uint32_t>(config.mask_token_id.value_or(0)));
    request.tokens.front() = static_cast<std::uint32_t>((band + 1) % config.vocab_size);
    requests_.push_back(std::move(request));
  }
  if (shape.context > 0) {
    DM_ASSIGN_OR_RETURN(
        const std::vector<BFloat16> taps,
        GenerateTaps(config, kGenerator, /*step=*/0, std::min(shape.context, kTapRows)));
    DM_RETURN_IF_ERROR(Append(taps, 0, shape.context));
  }
  // The context goes to the cache, and the graph is captured.
  DM_ASSIGN_OR_RETURN(expected_, session_->Propose(requests_, nullptr));
  if (shape.new_rows == 0) return OkStatus();
  DM_ASSIGN_OR_RETURN(
      const std::vector<BFloat16> taps,
      GenerateTaps(config, kGenerator, /*step=*/1, std::min(shape.new_rows, kTapRows)));
  DM_RETURN_IF_ERROR(Append(taps, shape.context, shape.new_rows));
  DM_ASSIGN_OR_RETURN(expected_, session_->Propose(requests_, nullptr));
  return OkStatus();
}

Status SteadyDraft::Reopen() {
  for (const BlockRequest& request : requests_) {
    DM_RETURN_IF_ERROR(session_->Reopen(request.band, case_.shape.new_rows));
  }
  return OkStatus();
}

Status SteadyDraft::Compare(const std::vector<BlockResult>& results) const {
  for (std::size_t b = 0; b < expected_.size(); ++b) {
    const std::vector<std::uint32_t>& expected = expected_[b].draft_tokens;
    const std::vector<std::uint32_t>& found = results[b].draft_tokens;
    const auto [e, f] = std::mismatch(expected.begin(), expected.end(), found.begin(), found.end());
    if (e == expected.end() && f == found.end()) continue;
    return InternalError(fmt::format(
        "band {}: draft {} of a timed run is not that of the propose before: expected token {}, "
        "found {}",
        b, e - expected.begin(), *e, *f));
  }
  return OkStatus();
}

StatusOr<double> SteadyDraft::RunAlone() {
  session_->TimeLaunches(&before_, &behind_);
  DM_RETURN_IF_ERROR(Reopen());
  DM_ASSIGN_OR_RETURN(const std::vector<BlockResult> results,
                      session_->Propose(requests_, nullptr));
  DM_RETURN_IF_ERROR(Compare(results));
  // The results' event is behind this one on the stream.
  return behind_.MillisecondsSince(before_);
}

StatusOr<double> SteadyDraft::RunQueued() {
  session_->TimeLaunches(nullptr, nullptr);
  DM_RETURN_IF_ERROR(Reopen());
  DM_RETURN_IF_ERROR(session_->Enqueue(requests_));
  return RunAlone();
}

StatusOr<double> SteadyDraft::RunGraph() {
  const std::uint64_t eager = session_->eager_runs();
  DM_ASSIGN_OR_RETURN(const double milliseconds, RunAlone());
  if (session_->eager_runs() != eager) return InternalError("a timed run did not use the graph");
  return milliseconds;
}

StatusOr<double> SteadyDraft::RunContext() {
  // The session's `before` event is the end here: it stands right before the graph.
  session_->TimeLaunches(&behind_, nullptr);
  DM_RETURN_IF_ERROR(Reopen());
  DM_RETURN_IF_ERROR(before_.Record(stream()));
  DM_ASSIGN_OR_RETURN(const std::vector<BlockResult> results,
                      session_->Propose(requests_, nullptr));
  DM_RETURN_IF_ERROR(Compare(results));
  return behind_.MillisecondsSince(before_);
}

StatusOr<double> SteadyDraft::RunPropose() {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  session_->TimeLaunches(nullptr, nullptr);
  DM_RETURN_IF_ERROR(Reopen());
  const auto begin = std::chrono::steady_clock::now();
  DM_ASSIGN_OR_RETURN(const std::vector<BlockResult> results,
                      session_->Propose(requests_, nullptr));
  const auto end = std::chrono::steady_clock::now();
  DM_RETURN_IF_ERROR(Compare(results));
  return Milliseconds(end - begin).count();
}

StatusOr<DraftTimes> SteadyDraft::Measure(std::size_t runs) {
  DraftTimes times;
  const auto series = [&](std::vector<double>& milliseconds,
                          StatusOr<double> (SteadyDraft::*run)()) -> Status {
    DM_RETURN_IF_ERROR(gpu_.ResetPersistingL2());
    for (std::size_t i = 0; i < kWarmUps + runs; ++i) {
      DM_ASSIGN_OR_RETURN(const double time, (this->*run)());
      if (i >= kWarmUps) milliseconds.push_back(time);
    }
    std::sort(milliseconds.begin(), milliseconds.end());
    return OkStatus();
  };
  const std::uint64_t eager = session_->eager_runs();
  DM_RETURN_IF_ERROR(series(times.graph, &SteadyDraft::RunAlone));
  DM_RETURN_IF_ERROR(series(times.queued, &SteadyDraft::RunQueued));
  DM_RETURN_IF_ERROR(series(times.propose, &SteadyDraft::RunPropose));
  if (session_->eager_runs() != eager) return InternalError("a timed run did not use the graph");
  return times;
}

}  // namespace draftmark
