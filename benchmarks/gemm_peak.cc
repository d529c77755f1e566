#include "benchmarks/gemm_peak.h"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "src/base/counter_hash.h"
#include "src/cuda/device_buffer.h"
#include "src/tensor/bfloat16.h"

namespace draftmark {
namespace {

constexpr auto kElements = static_cast<std::uint64_t>(kGemmSize * kGemmSize);
constexpr std::uint64_t kBytes = kElements * sizeof(BFloat16);
constexpr std::uint64_t kDrawn = std::uint64_t{1} << 20;  // elements; repeated behind them
constexpr int kWarmUps = 3;

// Values from -1 to 1.
Status FillRandom(const DeviceBuffer& buffer, std::uint64_t seed, cudaStream_t stream) {
  std::vector<BFloat16> drawn;
  drawn.reserve(kDrawn);
  for (std::uint64_t i = 0; i < kDrawn; ++i) {
    drawn.push_back(BFloat16::FromDouble(2 * UniformAt(seed, i) - 1));
  }
  DM_RETURN_IF_ERROR(CopyToDevice(buffer.address(), std::as_bytes(std::span(drawn)), stream));
  for (std::uint64_t done = kDrawn * sizeof(BFloat16); done < kBytes; done *= 2) {
    DeviceAddress behind = buffer.address();
    behind.value = static_cast<std::byte*>(behind.value) + done;
    DM_RETURN_IF_ERROR(
        CopyOnDevice(behind, buffer.address(), std::min(done, kBytes - done), stream));
  }
  return OkStatus();
}

}  // namespace

StatusOr<double> MeasureGemmFlops(BenchmarkGpu& gpu) {
  const auto create = [&](std::uint64_t bytes) {
    return DeviceBuffer::Create(gpu.allocator(), {.bytes = bytes, .tag = "gemm"});
  };
  DM_ASSIGN_OR_RETURN(const DeviceBuffer x, create(kBytes));
  DM_ASSIGN_OR_RETURN(const DeviceBuffer weight, create(kBytes));
  DM_ASSIGN_OR_RETURN(const DeviceBuffer y, create(kBytes));
  DM_ASSIGN_OR_RETURN(const DeviceBuffer workspace, create(kCublasLtWorkspaceBytes));
  DM_RETURN_IF_ERROR(FillRandom(x, SeedOf("x"), gpu.stream().get()));
  DM_RETURN_IF_ERROR(FillRandom(weight, SeedOf("weight"), gpu.stream().get()));
  const auto multiply = [&] {
    return gpu.cublaslt()->Multiply({.x = x.As<const BFloat16>(),
                                     .weight = weight.As<const BFloat16>(),
                                     .y = y.As<void>(),
                                     .rows = kGemmSize,
                                     .n = kGemmSize,
                                     .k = kGemmSize,
                                     .workspace = workspace.As<void>(),
                                     .workspace_bytes = kCublasLtWorkspaceBytes},
                                    gpu.stream().get());
  };
  double least = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kWarmUps + kGemmRuns; ++run) {
    DM_ASSIGN_OR_RETURN(const double seconds, gpu.Seconds(multiply));
    if (run >= kWarmUps) least = std::min(least, seconds);
  }
  if (!(least > 0)) return InternalError("a large matrix product took no time");
  constexpr auto kSize = static_cast<double>(kGemmSize);
  return 2 * kSize * kSize * kSize / least;
}

}  // namespace draftmark
