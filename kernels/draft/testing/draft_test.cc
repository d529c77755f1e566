#include "kernels/draft/testing/draft_test.h"

#include <fmt/format.h>

#include "src/base/check.h"
#include "src/base/counter_hash.h"
#include "src/cuda/device_buffer.h"
#include "src/weights/random_drafter.h"

namespace draftmark::kernels {
namespace {

std::uint64_t BytesOfPool(const CudaDraftSession& session) { return session.memory().cache / 2; }

}  // namespace

SessionLimits SmallLimits(std::uint64_t max_batch) {
  return {.max_batch = max_batch, .max_context = 70, .ctx_window = 16, .gamma = 8};
}

void DraftTest::SetUp() {
  GpuTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  DM_ASSERT_OK_AND_ASSIGN(library_, CublasLt::Create());
  DM_ASSERT_OK_AND_ASSIGN(CudaStream stream, CudaStream::Create());
  stream_ = std::make_unique<CudaStream>(std::move(stream));
}

std::shared_ptr<const DraftWeights> DraftTest::WeightsOf(const DraftVariant& variant) {
  std::shared_ptr<const DraftWeights>& weights = weights_[variant.name];
  if (weights == nullptr) {
    weights =
        DraftWeights::Generate(variant.config, variant.generator, allocator_, stream()).value();
  }
  return weights;
}

std::unique_ptr<CudaDraftSession> DraftTest::Open(const DraftVariant& variant,
                                                  const SessionLimits& limits,
                                                  const CudaSessionOptions& options,
                                                  Products products) {
  return OpenCudaSession(variant.config, WeightsOf(variant), limits, allocator_,
                         LibraryFor(products), options)
      .value();
}

std::vector<BFloat16> TapRow(const DrafterConfig& config, std::uint64_t sequence,
                             std::int32_t position) {
  return RandomBf16(BitsAt(sequence, static_cast<std::uint64_t>(position)), config.tap_width(), 2);
}

Status AppendRows(DraftSession& session, const DrafterConfig& config, std::size_t band,
                  std::uint64_t sequence, std::int32_t first, std::int32_t count) {
  std::vector<BFloat16> taps;
  std::vector<std::int32_t> positions;
  for (std::int32_t position = first; position < first + count; ++position) {
    const std::vector<BFloat16> row = TapRow(config, sequence, position);
    taps.insert(taps.end(), row.begin(), row.end());
    positions.push_back(position);
  }
  return session.AppendContext(band, taps, positions);
}

BlockRequest Block(const DrafterConfig& config, std::size_t band, std::uint32_t anchor,
                   std::int64_t start, std::size_t width) {
  std::vector<std::uint32_t> tokens(width,
                                    static_cast<std::uint32_t>(config.mask_token_id.value_or(0)));
  tokens[0] = anchor;
  return {band, std::move(tokens), start};
}

void Synchronize(const CudaDraftSession& session) {
  DM_CHECK(cudaStreamSynchronize(session.parts().stream) == cudaSuccess);
}

std::vector<std::byte> PoolBytes(const CudaDraftSession& session) {
  const std::uint64_t bytes = BytesOfPool(session);
  std::vector<std::byte> pools(2 * bytes);
  const DraftParts& parts = session.parts();
  DM_CHECK(CopyToHost(std::span(pools).first(bytes), {parts.cache.k}, parts.stream).ok());
  DM_CHECK(CopyToHost(std::span(pools).last(bytes), {parts.cache.v}, parts.stream).ok());
  Synchronize(session);
  return pools;
}

void ClearPools(const CudaDraftSession& session) {
  const DraftParts& parts = session.parts();
  for (BFloat16* const pool : {parts.cache.k, parts.cache.v}) {
    DM_CHECK(cudaMemsetAsync(pool, 0, BytesOfPool(session), parts.stream) == cudaSuccess);
  }
  Synchronize(session);
}

std::string DifferenceOf(std::span<const BlockResult> expected, std::span<const BlockResult> got) {
  if (expected.size() != got.size()) {
    return fmt::format("{} results instead of {}", got.size(), expected.size());
  }
  for (std::size_t b = 0; b < expected.size(); ++b) {
    const BlockResult& e = expected[b];
    const BlockResult& g = got[b];
    if (e.draft_tokens.size() != g.draft_tokens.size() ||
        e.confidence.size() != g.confidence.size()) {
      return fmt::format("result {}: {} drafts and {} confidences instead of {} and {}", b,
                         g.draft_tokens.size(), g.confidence.size(), e.draft_tokens.size(),
                         e.confidence.size());
    }
    for (std::size_t j = 0; j < e.draft_tokens.size(); ++j) {
      if (e.draft_tokens[j] != g.draft_tokens[j]) {
        return fmt::format("result {}: draft {} is {} instead of {}", b, j, g.draft_tokens[j],
                           e.draft_tokens[j]);
      }
    }
    for (std::size_t j = 0; j < e.confidence.size(); ++j) {
      // A NaN is a difference too: nothing here is allowed to be one.
      if (!(e.confidence[j] == g.confidence[j])) {
        return fmt::format("result {}: confidence {} is {} instead of {}", b, j, g.confidence[j],
                           e.confidence[j]);
      }
    }
  }
  return {};
}

Stages StagesOf(CudaDraftSession& session, const std::vector<BlockRequest>& requests) {
  StageCollector collector;
  EXPECT_THAT(session.Propose(requests, &collector), IsOk());
  return std::move(collector.stages);
}

}  // namespace draftmark::kernels
