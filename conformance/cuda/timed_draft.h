// A drafter of any size on the GPU, with its times and memory: what `draftmark draft` runs. Belongs to
// the backend that opened it (cuda_backend.h), which must outlive it. One thread.
#ifndef DRAFTMARK_CONFORMANCE_CUDA_TIMED_DRAFT_H_
#define DRAFTMARK_CONFORMANCE_CUDA_TIMED_DRAFT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "src/backend/draft_session.h"
#include "src/base/status.h"

namespace draftmark {

// Exact bytes of device memory, by purpose.
struct DeviceBytes {
  std::uint64_t weights = 0;
  std::uint64_t cache = 0;
  std::uint64_t scratch = 0;
  std::uint64_t workspace = 0;
  std::uint64_t total() const { return weights + cache + scratch + workspace; }
};

struct TimedBlocks {
  std::vector<BlockResult> blocks;  // as of DraftSession::Propose
  // Between two events around all that the propose puts on the stream: copies of its inputs, passes
  // over new context rows, and the block.
  double milliseconds = 0;
};

class TimedDraft {
 public:
  virtual ~TimedDraft() = default;

  // For AppendContext and what else is not timed.
  virtual DraftSession& session() = 0;
  // Captures the graphs of a shape, which the first propose of it would do while it is timed.
  virtual Status Prepare(std::uint64_t width, std::uint64_t bands) = 0;
  // With a sink kernel by kernel and with a copy of every stage to the host, which the time holds;
  // without one a graph replay.
  virtual StatusOr<TimedBlocks> Propose(std::span<const BlockRequest> requests,
                                        StageSink* sink) = 0;
  virtual DeviceBytes memory() const = 0;
};

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_CUDA_TIMED_DRAFT_H_
