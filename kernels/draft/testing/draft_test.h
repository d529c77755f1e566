// DraftTest: the base class of the tests of whole drafts on the GPU: weights, sessions, and what
// tests look at. Skipped without a GPU (src/cuda/gpu_test.h).
#ifndef DRAFTMARK_KERNELS_DRAFT_TESTING_DRAFT_TEST_H_
#define DRAFTMARK_KERNELS_DRAFT_TESTING_DRAFT_TEST_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/draft/cuda_session.h"
#include "kernels/draft/testing/draft_variants.h"
#include "src/backend/draft_session.h"
#include "src/backend/stages.h"
#include "src/base/status_matchers.h"
#include "src/cuda/cublaslt.h"
#include "src/cuda/cuda_allocator.h"
#include "src/cuda/gpu_test.h"
#include "src/cuda/stream.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

// Who multiplies: cuBLASLt where it can, or own kernels, which compute a row the same whatever
// other rows there are.
enum class Products { kLibrary, kOwn };

// Three bands (one on scratch v1), blocks of up to 8 rows, up to 70 context rows: more than four
// passes of 16, and more than four cache blocks.
SessionLimits SmallLimits(std::uint64_t max_batch = 3);

class DraftTest : public GpuTest {
 protected:
  void SetUp() override;
  // Made once.
  std::shared_ptr<const DraftWeights> WeightsOf(const DraftVariant& variant);
  std::unique_ptr<CudaDraftSession> Open(const DraftVariant& variant, const SessionLimits& limits,
                                         const CudaSessionOptions& options = {},
                                         Products products = Products::kLibrary);
  CublasLt* LibraryFor(Products products) const {
    return products == Products::kLibrary ? library_.get() : nullptr;
  }
  CudaAllocator& allocator() { return allocator_; }
  cudaStream_t stream() const { return stream_->get(); }

 private:
  CudaAllocator allocator_;
  std::unique_ptr<CudaStream> stream_;
  std::unique_ptr<CublasLt> library_;
  std::map<std::string, std::shared_ptr<const DraftWeights>> weights_;
};

// The taps of one context row: they depend on the sequence and the position only.
std::vector<BFloat16> TapRow(const DrafterConfig& config, std::uint64_t sequence,
                             std::int32_t position);
// Appends rows of positions [first, first + count).
Status AppendRows(DraftSession& session, const DrafterConfig& config, std::size_t band,
                  std::uint64_t sequence, std::int32_t first, std::int32_t count);
// An anchor and masks.
BlockRequest Block(const DrafterConfig& config, std::size_t band, std::uint32_t anchor,
                   std::int64_t start, std::size_t width);

// Keys and values of all slots, waiting for the session's stream. Empty without a cache.
std::vector<std::byte> PoolBytes(const CudaDraftSession& session);
// Fills both pools with zeros, so that pools of two sessions can be compared as a whole.
void ClearPools(const CudaDraftSession& session);
void Synchronize(const CudaDraftSession& session);

// Empty if both have the same tokens and the same confidence, bit for bit; else the first
// difference.
std::string DifferenceOf(std::span<const BlockResult> expected, std::span<const BlockResult> got);

// By band and name.
using Stages = std::map<std::pair<std::size_t, std::string>, std::vector<double>>;
class StageCollector final : public StageSink {
 public:
  void OnStage(const StageValue& stage) override {
    stages[{stage.band, std::string(stage.name)}] = {stage.values.begin(), stage.values.end()};
  }
  Stages stages;
};
// The stages of one propose; none if it failed.
Stages StagesOf(CudaDraftSession& session, const std::vector<BlockRequest>& requests);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_TESTING_DRAFT_TEST_H_
