#include "benchmarks/benchmark_gpu.h"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "src/cuda/cublaslt_library.h"
#include "src/cuda/device_buffer.h"

namespace draftmark {
namespace {

constexpr std::uint64_t kCopyBytes = std::uint64_t{1} << 30;
constexpr int kCopies = 10;

// The release of the kernel's driver, which CUDA does not tell ("580.159.04").
std::string DriverRelease() {
  std::string release;
  std::ifstream("/sys/module/nvidia/version") >> release;
  return release.empty() ? "unknown" : release;
}

}  // namespace

StatusOr<std::unique_ptr<BenchmarkGpu>> BenchmarkGpu::Create() {
  DM_ASSIGN_OR_RETURN(const std::vector<DeviceInfo> devices, ListDevices());
  DM_ASSIGN_OR_RETURN(CudaStream stream, CudaStream::Create());
  DM_ASSIGN_OR_RETURN(CudaEvent start, CudaEvent::Create(CudaEvent::Timing::kOn));
  DM_ASSIGN_OR_RETURN(CudaEvent stop, CudaEvent::Create(CudaEvent::Timing::kOn));
  DM_ASSIGN_OR_RETURN(std::unique_ptr<CublasLt> cublaslt, CublasLt::Create());
  std::unique_ptr<BenchmarkGpu> gpu(new BenchmarkGpu(
      devices.front(), std::move(stream), std::move(start), std::move(stop), std::move(cublaslt)));
  DM_RETURN_IF_ERROR(gpu->MeasureCopies());
  return gpu;
}

void BenchmarkGpu::AddContext() const {
  benchmark::AddCustomContext("gpu", info_.Describe());
  benchmark::AddCustomContext("driver", DriverRelease());
  const StatusOr<CublasLtFunctions> library = LoadCublasLt();
  benchmark::AddCustomContext("cublaslt_version",
                              library.ok() ? std::to_string(library->version) : "unknown");
  benchmark::AddCustomContext("copy_bytes_per_second", std::to_string(copy_bytes_per_second_));
}

Status BenchmarkGpu::MeasureCopies() {
  DM_ASSIGN_OR_RETURN(const DeviceBuffer source,
                      DeviceBuffer::Create(allocator_, {.bytes = kCopyBytes, .tag = "copy"}));
  DM_ASSIGN_OR_RETURN(const DeviceBuffer target,
                      DeviceBuffer::Create(allocator_, {.bytes = kCopyBytes, .tag = "copy"}));
  const auto copy = [&] {
    for (int i = 0; i < kCopies; ++i) {
      DM_RETURN_IF_ERROR(
          CopyOnDevice(target.address(), source.address(), kCopyBytes, stream_.get()));
    }
    return OkStatus();
  };
  DM_RETURN_IF_ERROR(copy());  // warms up clocks and page tables
  DM_ASSIGN_OR_RETURN(const double seconds, Seconds(copy));
  copy_bytes_per_second_ = 2.0 * kCopies * static_cast<double>(kCopyBytes) / seconds;
  return OkStatus();
}

}  // namespace draftmark
