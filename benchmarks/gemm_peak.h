// How fast this GPU multiplies: a large BF16 product by cuBLASLt, the arithmetic's roof as the copy
// bandwidth is the memory's. It is measured, not taken from a data sheet, and so may be reached.
//
//   DM_ASSIGN_OR_RETURN(const double flops, MeasureGemmFlops(gpu));   // per second
//
// The best of kGemmRuns launches, since a roof is what is reached and not what is usual. Operands
// are random, as zeros would take less power and so run at a higher clock. Takes some 30 ms and 400
// MiB meanwhile. One thread at a time; errors are those of CUDA and cuBLASLt.
#ifndef DRAFTMARK_BENCHMARKS_GEMM_PEAK_H_
#define DRAFTMARK_BENCHMARKS_GEMM_PEAK_H_

#include <cstdint>

#include "benchmarks/benchmark_gpu.h"
#include "src/base/status.h"

namespace draftmark {

// Rows, columns and sums: 1.1 TFLOP, 2700 FLOP for each byte that has to be read or written.
inline constexpr std::int64_t kGemmSize = 8192;
inline constexpr int kGemmRuns = 10;

StatusOr<double> MeasureGemmFlops(BenchmarkGpu& gpu);

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_GEMM_PEAK_H_
