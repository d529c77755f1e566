#include "benchmarks/benchmark_gpu.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/memory_bandwidth.h"
#include "src/cuda/cublaslt_library.h"
#include "src/cuda/cuda_status.h"
#include "src/cuda/device_buffer.h"

namespace draftmark {
namespace {

constexpr std::uint64_t kCopyBytes = std::uint64_t{1} << 30;
constexpr int kCopies = 10;

std::string DriverRelease() {
  std::string release;
  std::ifstream("/sys/module/nvidia/version") >> release;
  return release.empty() ? "unknown" : release;
}

// 0 where the driver does not know it.
int Attribute(cudaDeviceAttr attribute, int device) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, attribute, device) == cudaSuccess) return value;
  (void)cudaGetLastError();  // must not be taken for the next call's
  return 0;
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
  const int device = gpu->info_.ordinal;
  gpu->theoretical_bytes_per_second_ =
      TheoreticalBytesPerSecond(Attribute(cudaDevAttrMemoryClockRate, device),
                                Attribute(cudaDevAttrGlobalMemoryBusWidth, device));
  gpu->peak_flops_per_second_ =
      PeakBf16FlopsPerSecond(gpu->info_.compute_major, gpu->info_.compute_minor,
                             gpu->info_.sm_count, Attribute(cudaDevAttrClockRate, device));
  gpu->driver_release_ = DriverRelease();
  if (const StatusOr<CublasLtFunctions> library = LoadCublasLt(); library.ok()) {
    gpu->cublaslt_version_ = library->version;
  }
  DM_RETURN_IF_ERROR(gpu->MeasureCopies());
  return gpu;
}

Status BenchmarkGpu::ResetPersistingL2() {
  const auto unless_unsupported = [](cudaError_t error, const char* call) {
    if (error != cudaErrorNotSupported && error != cudaErrorUnsupportedLimit) {
      return CudaStatus(error, call);
    }
    (void)cudaGetLastError();
    return OkStatus();
  };
  // No room set aside, then no line that counts as persisting.
  DM_RETURN_IF_ERROR(unless_unsupported(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0),
                                        "cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize)"));
  return unless_unsupported(cudaCtxResetPersistingL2Cache(), "cudaCtxResetPersistingL2Cache");
}

StatusOr<bool> BenchmarkGpu::PersistingL2IsOff() {
  DM_RETURN_IF_ERROR(ResetPersistingL2());
  std::size_t bytes = 0;
  const cudaError_t error = cudaDeviceGetLimit(&bytes, cudaLimitPersistingL2CacheSize);
  if (error == cudaErrorNotSupported || error == cudaErrorUnsupportedLimit) {
    (void)cudaGetLastError();
    return true;
  }
  DM_RETURN_IF_ERROR(CudaStatus(error, "cudaDeviceGetLimit(cudaLimitPersistingL2CacheSize)"));
  return bytes == 0;
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
