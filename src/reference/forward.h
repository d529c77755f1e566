// The forward of a drafter on the CPU, written once for both precisions: context precompute, block
// layers, tail. spec/drafter.md sections 3 to 5. Order of work and names follow the spec's tables.
#ifndef DRAFTMARK_SRC_REFERENCE_FORWARD_H_
#define DRAFTMARK_SRC_REFERENCE_FORWARD_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/backend/draft_session.h"
#include "src/config/drafter_config.h"
#include "src/reference/band_view.h"
#include "src/reference/paged_cache.h"
#include "src/reference/rope.h"
#include "src/reference/stage_recorder.h"
#include "src/reference/tail.h"
#include "src/reference/weights.h"

namespace draftmark::reference {

template <typename N>
class Forward {
 public:
  using Storage = typename N::Storage;

  Forward(const DrafterConfig& config, const DrafterWeights& weights, RopeTable rope)
      : config_(config), weights_(weights), rope_(std::move(rope)), tail_(config, weights) {}

  // Projects context rows [band.committed, all) into the cache, at most `rows_per_pass` at a time
  // (section 3).
  void PrecomputeContext(const BandView& band, std::uint64_t rows_per_pass,
                         PagedCache<Storage>& cache, StageRecorder<N>& recorder) const;

  // Runs one block of `requests[i].tokens.size()` rows for each band and returns what the tail
  // chose (sections 4, 5).
  std::vector<BlockResult> RunBlock(std::span<const BandView> bands,
                                    std::span<const BlockRequest> requests,
                                    PagedCache<Storage>& cache, StageRecorder<N>& recorder) const;

 private:
  // The rows of one block forward, sequence-major: band b owns rows [b * width, (b + 1) * width).
  struct Rows {
    std::size_t bands = 0;
    std::size_t width = 0;
    std::vector<std::int64_t> positions;
    std::vector<Storage> stream;  // residual stream [rows, h]
    std::size_t count() const { return bands * width; }
  };

  Rows EmbedRows(std::span<const BlockRequest> requests) const;
  void Attention(std::uint64_t layer, std::span<const BandView> bands, Rows& rows,
                 PagedCache<Storage>& cache, StageRecorder<N>& recorder) const;
  void Mlp(std::uint64_t layer, std::span<const BandView> bands, Rows& rows,
           StageRecorder<N>& recorder) const;
  // Dynamic convolution around a sublayer (DFlash2). Prepare returns the rows that the sublayer
  // reads, and keeps the coefficients that Finish needs after it.
  std::vector<Storage> ConvPrepare(const ConvWeights& conv, const std::string& site,
                                   std::span<const BandView> bands, const Rows& rows,
                                   std::span<const Storage> normed, std::vector<Storage>& dynamic,
                                   StageRecorder<N>& recorder) const;
  std::vector<Storage> ConvFinish(const ConvWeights& conv, const std::string& site,
                                  std::span<const BandView> bands, const Rows& rows,
                                  std::span<const Storage> output, std::span<const Storage> dynamic,
                                  StageRecorder<N>& recorder) const;

  const DrafterConfig& config_;
  const DrafterWeights& weights_;
  RopeTable rope_;
  Tail<N> tail_;
};

extern template class Forward<ExactNumeric>;
extern template class Forward<Bf16Numeric>;

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_FORWARD_H_
