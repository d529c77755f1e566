#include "benchmarks/roofline/linear_chain.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "benchmarks/quantile.h"
#include "kernels/linear/linear_traits.h"
#include "kernels/stream_chain/stream_chain_traits.h"
#include "src/cases/generated_data.h"
#include "src/cuda/cuda_status.h"
#include "src/cuda/graph.h"

namespace draftmark {
namespace {

constexpr int kWarmUps = 3;
// Random values; longer operands repeat them.
constexpr std::uint64_t kPattern = std::uint64_t{1} << 22;

constexpr std::uint64_t kAlignment = 256;
std::uint64_t Aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

Status Fill(const DeviceBuffer& target, std::span<const std::byte> pattern, cudaStream_t stream) {
  const std::uint64_t first = std::min<std::uint64_t>(pattern.size(), target.bytes());
  DM_RETURN_IF_ERROR(CopyToDevice(target.address(), pattern.first(first), stream));
  for (std::uint64_t done = first; done < target.bytes();) {
    const std::uint64_t bytes = std::min(done, target.bytes() - done);
    const DeviceAddress behind = {target.As<std::byte>() + done};
    DM_RETURN_IF_ERROR(CopyOnDevice(behind, target.address(), bytes, stream));
    done += bytes;
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::unique_ptr<LinearChain>> LinearChain::Create(BenchmarkGpu& gpu,
                                                           const LinearShape& shape,
                                                           std::uint64_t most_rows) {
  std::unique_ptr<LinearChain> chain(new LinearChain(gpu, shape));
  DM_RETURN_IF_ERROR(chain->Allocate(most_rows));
  return chain;
}

Status LinearChain::Allocate(std::uint64_t most_rows) {
  plan_ = PlanChain(shape_.bytes(), static_cast<std::uint64_t>(gpu_.info().l2_bytes));
  const auto create = [&](std::uint64_t bytes) {
    return DeviceBuffer::Create(gpu_.allocator(), {.bytes = bytes, .tag = "linear chain"});
  };
  DM_ASSIGN_OR_RETURN(weights_, create(plan_.copies * Aligned(shape_.bytes())));
  DM_ASSIGN_OR_RETURN(x_, create(most_rows * shape_.k * sizeof(BFloat16)));
  DM_ASSIGN_OR_RETURN(y_, create(most_rows * shape_.n * sizeof(BFloat16)));
  DM_ASSIGN_OR_RETURN(
      workspace_, create(kernels::LinearTraits::WorkspaceBytes(static_cast<std::int64_t>(most_rows),
                                                               static_cast<std::int64_t>(shape_.n),
                                                               /*epilogue=*/false)));
  DM_ASSIGN_OR_RETURN(counter_, create(kernels::StreamChainTraits::kCounters * sizeof(unsigned)));
  DM_RETURN_IF_ERROR(CudaStatus(
      cudaMemsetAsync(counter_.address().value, 0, counter_.bytes(), gpu_.stream().get()),
      "linear chain: cudaMemsetAsync"));
  DM_ASSIGN_OR_RETURN(
      const std::vector<BFloat16> values,
      GenerateValues({.seed = 1},
                     {.name = "linear chain", .shape = {kPattern}, .offset = 0, .scale = 0.02}));
  const auto pattern = std::as_bytes(std::span(values));
  DM_RETURN_IF_ERROR(Fill(weights_, pattern, gpu_.stream().get()));
  DM_RETURN_IF_ERROR(Fill(x_, pattern, gpu_.stream().get()));
  return gpu_.stream().Synchronize();
}

std::vector<kernels::LinearArgs> LinearChain::Calls(std::uint64_t rows) const {
  std::vector<kernels::LinearArgs> calls;
  for (std::uint64_t i = 0; i < plan_.calls; ++i) {
    const std::uint64_t copy = i % plan_.copies;
    const std::byte* const weight = weights_.As<std::byte>() + copy * Aligned(shape_.bytes());
    calls.push_back({.x = x_.As<BFloat16>(),
                     .weight = reinterpret_cast<const BFloat16*>(weight),
                     .y = y_.As<BFloat16>(),
                     .rows = static_cast<std::int64_t>(rows),
                     .n = static_cast<std::int64_t>(shape_.n),
                     .k = static_cast<std::int64_t>(shape_.k),
                     .workspace = workspace_.address().value,
                     .workspace_bytes = workspace_.bytes()});
  }
  return calls;
}

StatusOr<std::optional<double>> LinearChain::Time(const LinearPath& path, std::uint64_t rows) {
  const std::vector<kernels::LinearArgs> calls = Calls(rows);
  // Those of a shape differ in their weights' address alone, all aligned alike.
  if (!path.takes(calls.front())) return std::optional<double>();
  const auto launch = [&](std::size_t count) {
    return path.launch({.calls = std::span(calls).first(count), .counter = counter_.As<unsigned>()},
                       gpu_.stream().get());
  };
  // Outside of the graph first: code is loaded, and a library chooses its algorithm.
  DM_RETURN_IF_ERROR(launch(1));
  DM_RETURN_IF_ERROR(gpu_.stream().Synchronize());
  DM_ASSIGN_OR_RETURN(const CudaGraph graph, CudaGraph::Capture(gpu_.stream().get(), [&] {
                        return launch(calls.size());
                      }));
  const auto replay = [&] { return graph.Launch(gpu_.stream().get()); };
  DM_RETURN_IF_ERROR(gpu_.ResetPersistingL2());
  for (int i = 0; i < kWarmUps; ++i) DM_RETURN_IF_ERROR(replay());
  std::vector<double> seconds;
  for (int i = 0; i < kReplays; ++i) {
    DM_RETURN_IF_ERROR(replay());  // the host gets ahead
    DM_ASSIGN_OR_RETURN(const double all, gpu_.Seconds(replay));
    seconds.push_back(all / static_cast<double>(plan_.calls));
  }
  std::sort(seconds.begin(), seconds.end());
  return std::optional<double>(Quantile(seconds, 0.5));
}

}  // namespace draftmark
