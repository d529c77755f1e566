// What the benchmarks of one process share: the first GPU, a stream, the library, how fast that GPU
// copies, and how fast its memory could be at most.
//
//   DM_ASSIGN_OR_RETURN(const auto gpu, BenchmarkGpu::Create());
//   DM_RETURN_IF_ERROR(gpu->ResetPersistingL2());
//   gpu->Seconds([&] { return graph.Launch(gpu->stream().get()); });
//
// One thread at a time. Errors are those of CUDA; UNAVAILABLE without a GPU, a driver or cuBLASLt.
#ifndef DRAFTMARK_BENCHMARKS_BENCHMARK_GPU_H_
#define DRAFTMARK_BENCHMARKS_BENCHMARK_GPU_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "src/base/status.h"
#include "src/cuda/cublaslt.h"
#include "src/cuda/cuda_allocator.h"
#include "src/cuda/device.h"
#include "src/cuda/stream.h"

namespace draftmark {

class BenchmarkGpu {
 public:
  // Measures the copies, which takes a tenth of a second and 2 GiB of its memory meanwhile.
  static StatusOr<std::unique_ptr<BenchmarkGpu>> Create();

  // Nothing is kept in the L2 cache by request: what an earlier measurement asked for must not make
  // a later one warm. Does nothing on devices that cannot keep anything.
  Status ResetPersistingL2();
  // The same, and whether the driver says that no room is set aside any more (true where it cannot
  // set any aside): what a benchmark asks before it calls its operands cold.
  StatusOr<bool> PersistingL2IsOff();

  // Seconds on the GPU that `enqueue` takes.
  template <typename F>
  StatusOr<double> Seconds(const F& enqueue) {
    DM_RETURN_IF_ERROR(start_.Record(stream_.get()));
    DM_RETURN_IF_ERROR(enqueue());
    DM_RETURN_IF_ERROR(stop_.Record(stream_.get()));
    DM_RETURN_IF_ERROR(stop_.Wait());
    DM_ASSIGN_OR_RETURN(const double milliseconds, stop_.MillisecondsSince(start_));
    return milliseconds / 1e3;
  }

  const DeviceInfo& info() const { return info_; }
  CudaAllocator& allocator() { return allocator_; }
  const CudaStream& stream() const { return stream_; }
  CublasLt* cublaslt() { return cublaslt_.get(); }
  // Read and written together, of a copy from device memory to device memory.
  double copy_bytes_per_second() const { return copy_bytes_per_second_; }
  // Memory clock times bus width; absent where the driver does not tell them.
  std::optional<double> theoretical_bytes_per_second() const {
    return theoretical_bytes_per_second_;
  }
  // BF16 products of the tensor cores at the highest clock; absent where this is not written down.
  std::optional<double> peak_flops_per_second() const { return peak_flops_per_second_; }
  // The release of the kernel's driver, which CUDA does not tell: "580.159.04", or "unknown".
  const std::string& driver_release() const { return driver_release_; }
  // 130102 is 13.1.2; 0 if unknown.
  std::size_t cublaslt_version() const { return cublaslt_version_; }

 private:
  BenchmarkGpu(DeviceInfo info, CudaStream stream, CudaEvent start, CudaEvent stop,
               std::unique_ptr<CublasLt> cublaslt)
      : info_(std::move(info)),
        stream_(std::move(stream)),
        start_(std::move(start)),
        stop_(std::move(stop)),
        cublaslt_(std::move(cublaslt)) {}

  Status MeasureCopies();

  const DeviceInfo info_;
  CudaAllocator allocator_;
  CudaStream stream_;
  CudaEvent start_;
  CudaEvent stop_;
  const std::unique_ptr<CublasLt> cublaslt_;
  double copy_bytes_per_second_ = 0;
  std::optional<double> theoretical_bytes_per_second_;
  std::optional<double> peak_flops_per_second_;
  std::string driver_release_;
  std::size_t cublaslt_version_ = 0;
};

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_BENCHMARK_GPU_H_
