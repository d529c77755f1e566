#include "fmt/format.h"
#include "src/cuda/device.h"

namespace draftmark {
namespace {

std::string CudaVersion(int version) {
  return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

std::string DeviceInfo::Describe() const {
  constexpr double kMiB = 1024.0 * 1024.0;
  return fmt::format("{} (sm_{}{}, {} SMs, {:.1f} GiB, L2 {:.0f} MiB, driver {}, runtime {})", name,
                     compute_major, compute_minor, sm_count,
                     static_cast<double>(memory_bytes) / (1024.0 * kMiB),
                     static_cast<double>(l2_bytes) / kMiB, CudaVersion(driver_version),
                     CudaVersion(runtime_version));
}

}  // namespace draftmark
