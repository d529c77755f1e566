// Which of several algorithms for one matrix product to use: the fastest of those whose results have the same
// bits as the first one's, so that what a machine measures decides how long a product takes and nothing else.
//
// For products whose matrices are no longer in L2 when they are read again: each call then takes what it takes
// in a draft. Waits for the stream, and copies results to the host; for one thread.
#ifndef DRAFTMARK_SRC_CUDA_GEMM_TUNING_H_
#define DRAFTMARK_SRC_CUDA_GEMM_TUNING_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <span>

#include "src/base/status.h"
#include "src/cuda/gemm_trial.h"

namespace draftmark {

// Where the products' results lie on the device: `count` matrices of `rows` rows. In bytes.
struct GemmResults {
  const void* first = nullptr;
  std::size_t rows = 0;
  std::size_t row_bytes = 0;
  std::size_t row_step = 0;
  std::size_t count = 1;
  std::size_t step = 0;
};

// `launch(i)` enqueues the product by algorithm i of `algorithms`; one that is refused is left out. Gives the
// index to use; 0 where the first result says nothing (all elements alike). Errors: what the first algorithm
// was answered, or the device. Behind it `results` are those of any of them.
StatusOr<std::size_t> TuneGemm(std::size_t algorithms,
                               const std::function<Status(std::size_t)>& launch,
                               const GemmResults& results, cudaStream_t stream);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CUDA_GEMM_TUNING_H_
