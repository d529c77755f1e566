// The CUDA backend: a whole draft on the GPU, on a DflashScratch of either version, replayed from
// CUDA graphs (spec/drafter.md, spec/dflash_scratch.md). See src/backend/draft_session.h for how to
// drive it.
//
//   DM_ASSIGN_OR_RETURN(const auto session,
//                       OpenCudaSession(config, weights, limits, allocator, library));
//   DM_RETURN_IF_ERROR(session->Prepare(/*width=*/16, /*bands=*/1));   // captures the graph
//   ... AppendContext, Propose ...
//
// Memory: weights + cache + scratch + workspace, all from `allocator` when the session is opened,
// each with an exact formula (memory()). After that, and after a shape was prepared, a propose
// neither allocates nor waits, but for the event behind the tokens' copy to the host. Tails that
// PassRows does not hold are the exception: their passes wait for a free slot of inputs, and one of a
// new length may load kernels. A context row is copied to the device when it is appended, and
// AppendContext returns when everything on the stream is done, since the source is the caller's.
//
// A propose with a sink runs without a graph, so that stages can be read between the kernels; the
// same launches are what a graph holds, so the results have the same bits. Without a sink
// BlockResult::margin is empty: nothing on the GPU computes margins.
//
// Errors beside those of DraftSession: those of CUDA, after which a session is of no use; and
// RESOURCE_EXHAUSTED where host memory ends, after which it is as it was before the call, but that
// nothing is left to collect. One thread at a time, as of every DraftSession.
//
// A propose's new context rows go through the device in a pass of one of two sizes (pass_rows.h): by
// the library or by chains their bits depend on which, so on how many rows the other bands of the
// propose have.
#ifndef DRAFTMARK_KERNELS_DRAFT_CUDA_SESSION_H_
#define DRAFTMARK_KERNELS_DRAFT_CUDA_SESSION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/draft/draft_parts.h"
#include "kernels/draft/draft_weights.h"
#include "kernels/draft/harness_workspace.h"
#include "src/backend/draft_session.h"
#include "src/base/status.h"
#include "src/config/drafter_config.h"
#include "src/cuda/cublaslt.h"
#include "src/cuda/stream.h"
#include "src/scratch/allocator.h"
#include "src/scratch/dflash_layout.h"

namespace draftmark::kernels {

struct CudaSessionOptions {
  // 1 holds one band only, and its records no position: windows of sliding layers count by index
  // there. A block for which that is not the same, because of a gap in the positions of its
  // context, is refused (src/backend/index_masks.h).
  std::uint64_t scratch_version = 2;
  std::optional<DflashLayoutName> layout = std::nullopt;  // absent: doc (v1) or normative (v2)
  bool paged = true;   // false: no cache, context in the row buffers, one band, no graphs
  bool graphs = true;  // false: every propose launches kernel by kernel
  // Kernels for this device where they fit: on sm_90, with a cache, streaming chains (up to 16 rows;
  // kernels/stream_chain) and attention in clusters. A chain needs all SMs at once: sessions of a
  // process take turns on a device (chain_turn.h). A band's results are those of the number of rows: up
  // to 16 come from chains, more from other kernels, which add in another order. False: one kernel for
  // each step, the same on every device.
  bool fast = true;
};

// Bytes of device memory by purpose; each is what the ledger shows under its tags.
struct SessionMemory {
  std::uint64_t weights = 0;    // tags "weights/..."
  std::uint64_t cache = 0;      // "kv_pool_k", "kv_pool_v"
  std::uint64_t scratch = 0;    // the scratch's field names
  std::uint64_t workspace = 0;  // "workspace/..."
  std::uint64_t device() const { return weights + cache + scratch + workspace; }
  std::uint64_t scratch_pinned = 0;
  std::uint64_t workspace_pinned = 0;
};

class CudaDraftSession : public DraftSession {
 public:
  // Captures the graphs of one shape, after a run of it that touches no row of the cache. A propose
  // does it by itself when a shape comes for the first time. Waits for the stream. What was enqueued
  // and not collected is lost. Does nothing in a session without graphs. FAILED_PRECONDITION for a
  // shape beyond the limits, INVALID_ARGUMENT for a block of one row.
  virtual Status Prepare(std::uint64_t width, std::uint64_t bands) = 0;

  // Propose in two halves. Enqueue returns once everything is on the stream; Collect waits for the
  // event and returns the results of the last Enqueue. Between the two more may be enqueued: their
  // inputs do not disturb each other, but the results of all but the last are lost.
  virtual Status Enqueue(std::span<const BlockRequest> requests) = 0;
  virtual StatusOr<std::vector<BlockResult>> Collect() = 0;

  // For benchmarks. The last `rows` context rows of a band, whose taps are still there, count as not
  // yet in the cache: the next propose computes them again, from the same inputs to the same slots.
  // What stages show does not change. INVALID_ARGUMENT if fewer rows are in the cache.
  virtual Status Reopen(std::size_t band, std::uint64_t rows) = 0;
  // Later proposes with a cache record these on the stream right before and right behind what a
  // graph holds: between them lie neither the copies of inputs nor passes of longer tails. Null:
  // none. Both must outlive the session's use of them.
  virtual void TimeLaunches(CudaEvent* before, CudaEvent* behind) = 0;
  // Context rows of all bands that a draft of this shape takes in itself; those of a band that has
  // more of them go through passes of their own before it.
  virtual std::uint64_t PassRows(std::uint64_t width, std::uint64_t bands) const = 0;

  virtual SessionMemory memory() const = 0;
  virtual const SessionPlan& plan() const = 0;
  // For tests and benchmarks: where everything lies, and the stream.
  virtual const DraftParts& parts() const = 0;
  // Graph launches and launches kernel by kernel so far.
  virtual std::uint64_t replays() const = 0;
  virtual std::uint64_t eager_runs() const = 0;
};

// `library` may be null: own kernels multiply. Allocator and library must outlive the session.
// Errors: INVALID_ARGUMENT for a config or limits that the kernels do not take, with the field
// (head_dim up to 256, selector_top_k 16, 65535 rows of a block forward, 2^31 - 1 context rows of all
// bands); those of PlanSession, of the scratch and of the allocator.
StatusOr<std::unique_ptr<CudaDraftSession>> OpenCudaSession(
    const DrafterConfig& config, std::shared_ptr<const DraftWeights> weights,
    const SessionLimits& limits, Allocator& allocator, CublasLt* library,
    const CudaSessionOptions& options = {});

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_CUDA_SESSION_H_
