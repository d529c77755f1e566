// SteadyDraft: one drafter in the state of an engine between two verifications, whose draft can be
// run again and again: weights generated on the GPU, `context` rows in the cache, `new_rows` rows
// whose K and V the draft itself computes.
//
//   DM_ASSIGN_OR_RETURN(const auto draft, SteadyDraft::Open(gpu, draft_case));
//   DM_ASSIGN_OR_RETURN(const DraftTimes times, draft->Measure(/*runs=*/100));
//
// Every run is the same propose: before it the new rows are reopened (CudaDraftSession::Reopen), so
// that its inputs travel to the device once more, the captured graph runs the precompute pass, the
// block and the tail, and the same rows of the cache are written with the same values. Nothing on
// the device is patched up, and a run's tokens must be those of the first. Replaying the graph alone
// would not do: the block leaves its own slots, tokens and norms where the pass expects its inputs.
#ifndef DRAFTMARK_BENCHMARKS_STEADY_DRAFT_H_
#define DRAFTMARK_BENCHMARKS_STEADY_DRAFT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "benchmarks/benchmark_gpu.h"
#include "benchmarks/draft_case.h"
#include "kernels/draft/cuda_session.h"
#include "src/base/status.h"
#include "src/cuda/stream.h"
#include "src/scratch/ledger.h"

namespace draftmark {

// Milliseconds of each run, ascending.
struct DraftTimes {
  // The graph between two events on the GPU, which was idle before: what pytorch_baseline.py
  // measures. The GPU waits for the host's launch in it, as far as the copies of the inputs before
  // it do not hide that.
  std::vector<double> graph;
  // The same behind another propose, so that the host is far ahead: the GPU's work alone.
  std::vector<double> queued;
  // From the call of Propose to its return, by the host's clock: copies of inputs, graph, copy of
  // the tokens, event.
  std::vector<double> propose;
};

class SteadyDraft {
 public:
  // INVALID_ARGUMENT if the graph does not take that many new rows; the errors of the session and of
  // the allocator. `gpu` must outlive the object.
  static StatusOr<std::unique_ptr<SteadyDraft>> Open(
      BenchmarkGpu& gpu, const DraftCase& c, const kernels::CudaSessionOptions& options = {});

  // The same with new rows that go through passes of their own before the graph: for RunContext.
  static StatusOr<std::unique_ptr<SteadyDraft>> OpenForContext(
      BenchmarkGpu& gpu, const DraftCase& c, const kernels::CudaSessionOptions& options = {});

  // One run, for whoever takes samples: milliseconds of the graph, as DraftTimes::graph. INTERNAL as
  // Measure's.
  StatusOr<double> RunGraph();
  // The precompute passes of the new rows alone, as an engine meets them before a draft: from the
  // copies of their inputs to the last pass. Only after OpenForContext.
  StatusOr<double> RunContext();

  // Nothing persists in the L2 cache when a series begins. INTERNAL if a run's tokens are not those
  // of the first propose, or if one did not use the graph.
  StatusOr<DraftTimes> Measure(std::size_t runs);

  kernels::SessionMemory memory() const { return session_->memory(); }
  // Device memory of weights and session.
  const Ledger& ledger() const { return ledger_; }
  cudaStream_t stream() const { return session_->parts().stream; }

 private:
  SteadyDraft(BenchmarkGpu& gpu, DraftCase c, CudaEvent before, CudaEvent behind)
      : gpu_(gpu),
        case_(std::move(c)),
        allocator_(gpu.allocator(), ledger_),
        before_(std::move(before)),
        behind_(std::move(behind)) {}

  static StatusOr<std::unique_ptr<SteadyDraft>> Open(BenchmarkGpu& gpu, const DraftCase& c,
                                                     const kernels::CudaSessionOptions& options,
                                                     bool long_tail);

  Status OpenSession(const kernels::CudaSessionOptions& options, bool long_tail);
  Status FillContext();
  Status Append(std::span<const BFloat16> taps, std::uint64_t first, std::uint64_t rows);
  Status Reopen();
  Status Compare(const std::vector<BlockResult>& results) const;
  // One run with and without a propose ahead of it; milliseconds between the events.
  StatusOr<double> RunAlone();
  StatusOr<double> RunQueued();
  StatusOr<double> RunPropose();

  BenchmarkGpu& gpu_;
  const DraftCase case_;
  Ledger ledger_;
  LedgerAllocator allocator_;  // outlives what it allocates
  CudaEvent before_;
  CudaEvent behind_;
  std::unique_ptr<kernels::CudaDraftSession> session_;
  std::vector<BlockRequest> requests_;
  std::vector<BlockResult> expected_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_STEADY_DRAFT_H_
