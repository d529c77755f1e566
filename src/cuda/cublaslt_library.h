// The machine's cuBLASLt, opened while the program runs: one program serves machines with and
// without CUDA.
//
//   DM_ASSIGN_OR_RETURN(const CublasLtFunctions lt, LoadCublasLt());
//   cublasLtHandle_t handle = nullptr;
//   lt.create(&handle);
//
// A library that was opened stays open until the process ends. Thread-safe.
#ifndef DRAFTMARK_SRC_CUDA_CUBLASLT_LIBRARY_H_
#define DRAFTMARK_SRC_CUDA_CUBLASLT_LIBRARY_H_

#include <cublasLt.h>

#include <cstddef>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace draftmark {

// The library's functions that this project calls, none of them null.
struct CublasLtFunctions {
  std::string path;         // the name it was opened by
  std::size_t version = 0;  // 130102 is 13.1.2

  decltype(&cublasLtGetVersion) get_version = nullptr;
  decltype(&cublasLtGetStatusName) get_status_name = nullptr;
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtMatmulDescCreate) matmul_desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) matmul_desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) matmul_desc_set_attribute = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) matrix_layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) matrix_layout_destroy = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) matrix_layout_set_attribute = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) matmul_preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) matmul_preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) matmul_preference_set_attribute = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) matmul_algo_get_heuristic = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
};

// Libraries of another major version have another interface. 13 with the headers of CUDA 13.
inline constexpr std::size_t kCublasLtMajorVersion = CUBLAS_VER_MAJOR;

// Where to look, in this order: libcublasLt.so.13 by its soname (LD_LIBRARY_PATH and the system's
// folders), then in /usr/local/cuda, /usr/local/cuda-13*, $CUDA_HOME and $CUDA_PATH, in each lib64,
// lib and targets/x86_64-linux/lib. tools/bundle/run looks in the same places.
std::vector<std::string> CublasLtCandidates();

// The first candidate that fits. UNAVAILABLE names the library, where it was looked for, and what
// was found there: nothing, a file that cannot be opened, another library, or another version.
StatusOr<CublasLtFunctions> LoadCublasLt(
    const std::vector<std::string>& candidates = CublasLtCandidates());

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CUDA_CUBLASLT_LIBRARY_H_
