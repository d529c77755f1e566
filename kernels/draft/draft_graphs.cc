#include "kernels/draft/draft_graphs.h"

#include <utility>

#include "kernels/draft/pass_rows.h"
#include "src/base/check.h"
#include "src/cuda/cuda_status.h"

namespace draftmark::kernels {

Status DraftGraphs::WarmUp(const BlockShape& shape, std::uint64_t pass_rows,
                           const ContextPass* pass, const Launches& launches) {
  DM_RETURN_IF_ERROR(
      inputs_.WithSlot([&](InputSlot& slot) { return inputs_.SendIdle(shape, pass_rows, slot); }));
  DM_RETURN_IF_ERROR(launches(shape, pass));
  DM_RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(p_.stream), "cudaStreamSynchronize"));
  slots_.Mark();
  slots_.MarkReached();
  return OkStatus();
}

Status DraftGraphs::Capture(const Shape& shape, std::uint64_t most, const Launches& launches) {
  const BlockShape block = {.bands = shape.bands, .width = shape.width};
  const ContextPass pass = {.taps = inputs_.staging(), .rows = most};
  const ContextPass half = {.taps = inputs_.staging(), .rows = HalfPassRows(most)};
  // Loads kernels and chooses the library's algorithms, which a capture must not. Without a pass other kernels may run.
  DM_RETURN_IF_ERROR(WarmUp(block, most, &pass, launches));
  DM_RETURN_IF_ERROR(WarmUp(block, most, nullptr, launches));
  if (half.rows > 0) DM_RETURN_IF_ERROR(WarmUp(block, half.rows, &half, launches));
  const auto capture = [&](const ContextPass* with) {
    return CudaGraph::Capture(p_.stream, [&] { return launches(block, with); });
  };
  DM_ASSIGN_OR_RETURN(CudaGraph with_pass, capture(&pass));
  DM_ASSIGN_OR_RETURN(CudaGraph block_only, capture(nullptr));
  std::optional<CudaGraph> with_half_pass;
  if (half.rows > 0) {
    DM_ASSIGN_OR_RETURN(with_half_pass, capture(&half));
  }
  // All or none: a propose that finds the shape may need any.
  graphs_.insert_or_assign(
      shape, Graphs{std::move(with_pass), std::move(block_only), std::move(with_half_pass)});
  return OkStatus();
}

Status DraftGraphs::Launch(const Shape& shape, std::uint64_t rows, std::uint64_t most) const {
  DM_CHECK(Has(shape));
  const Graphs& graphs = graphs_.at(shape);
  DM_CHECK(rows == 0 || rows == most || graphs.with_half_pass.has_value());
  const CudaGraph& graph = rows == 0     ? graphs.block_only
                           : rows < most ? *graphs.with_half_pass
                                         : graphs.with_pass;
  return graph.Launch(p_.stream);
}

}  // namespace draftmark::kernels
