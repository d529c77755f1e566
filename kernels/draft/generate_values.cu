#include <algorithm>

#include "kernels/device/arguments.h"
#include "kernels/draft/generate_values.h"
#include "src/base/counter_hash.h"

namespace draftmark::kernels {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostGrid = 8192;

// One rounding from float64, as BFloat16::FromDouble for finite values.
__device__ BFloat16 RoundDouble(double value) {
  // Truncated with a sticky bit: 24 bits are enough to make the final rounding exact.
  const float towards_zero = __double2float_rz(value);
  std::uint32_t bits = __float_as_uint(towards_zero);
  if (static_cast<double>(towards_zero) != value) bits |= 1u;
  bits += 0x7FFFu + ((bits >> 16) & 1u);
  return BFloat16{static_cast<std::uint16_t>(bits >> 16)};
}

__global__ void __launch_bounds__(kThreads) GenerateValuesKernel(GenerateValuesArgs args) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
       i < args.count; i += step) {
    const double uniform = UniformAt(args.seed, static_cast<std::uint64_t>(i));
    // As on the host: no fused multiply-add. 2 * uniform - 1 is exact.
    const double centred = __dadd_rn(__dmul_rn(2, uniform), -1);
    args.out[i] = RoundDouble(__dadd_rn(args.offset, __dmul_rn(args.scale, centred)));
  }
}

}  // namespace

Status LaunchGenerateValues(const GenerateValuesArgs& args, cudaStream_t stream) {
  if (args.count == 0) return OkStatus();
  DM_RETURN_IF_ERROR(ArgumentCheck("generate_values")
                         .Size("count", args.count, 1, INT64_MAX)
                         .Pointer("out", args.out)
                         .status());
  const std::int64_t blocks = std::min(CeilDiv(args.count, kThreads), kMostGrid);
  GenerateValuesKernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(args);
  return LaunchStatus("generate_values");
}

}  // namespace draftmark::kernels
