// What befalls a session on the GPU when host memory ends: each of its operator new fails once in turn, through opening
// and through a history of every call. For tests on a GPU and on src/cuda/fake_runtime.h.
//
//   const FaultyHistory history(DraftVariantOf("dspark_rnn"), {.graphs = true}, allocator, stream);
//   EXPECT_GT(FailEveryHostAllocationOfOpening(history, [&] { return allocator.live_count(); }), 20);
//   EXPECT_GT(FailEveryHostAllocationOfCalls(history), 20);
//
// A program that links it has src/base/failing_new.h's operator new. One thread.
#ifndef DRAFTMARK_KERNELS_DRAFT_TESTING_SESSION_FAULTS_H_
#define DRAFTMARK_KERNELS_DRAFT_TESTING_SESSION_FAULTS_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/draft/cuda_session.h"
#include "kernels/draft/testing/draft_test.h"
#include "kernels/draft/testing/draft_variants.h"

namespace draftmark::kernels {

// What a history gave: the drafts of its proposes, and the stages of the one with a sink.
struct HistoryOutcome {
  std::vector<BlockResult> proposed, drawn_with_sink, collected, after_reset;
  StageCollector stages;
};

class FaultyHistory {
 public:
  // All but the session is made now. `allocator` and `stream` must outlive it.
  FaultyHistory(const DraftVariant& variant, const CudaSessionOptions& options,
                Allocator& allocator, cudaStream_t stream);

  // Weights and session.
  StatusOr<std::unique_ptr<CudaDraftSession>> Open() const { return OpenOn(allocator_); }
  StatusOr<std::unique_ptr<CudaDraftSession>> OpenOn(Allocator& allocator) const;
  // Call number `number` of the history.
  static constexpr int kCalls = 12;
  Status Call(CudaDraftSession& session, int number, HistoryOutcome& outcome) const;
  // All of them, in a session that nothing happens to.
  StatusOr<HistoryOutcome> Run() const;

 private:
  struct Rows {
    std::vector<BFloat16> taps;
    std::vector<std::int32_t> positions;
  };
  Rows RowsOf(std::int32_t first, std::int32_t count) const;

  const DraftVariant variant_;
  const CudaSessionOptions options_;
  Allocator& allocator_;
  const cudaStream_t stream_;
  const std::int32_t many_count_;
  const Rows many_, few_;
  const BlockRequest first_, second_, third_, fourth_;
};

// Empty if the two are the same bit for bit, else the first difference.
std::string DifferenceOf(const HistoryOutcome& expected, const HistoryOutcome& got);

// Each expects a clear error for every failure, nothing leaked (`objects` counts what the device side holds), and that
// what comes after is as if nothing had been; returns how many failed. `stride` tries each stride-th allocation alone.
std::int64_t FailEveryHostAllocationOfOpening(const FaultyHistory& history,
                                              const std::function<std::int64_t()>& objects,
                                              std::int64_t stride = 1);
std::int64_t FailEveryHostAllocationOfCalls(const FaultyHistory& history, std::int64_t stride = 1);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_TESTING_SESSION_FAULTS_H_
