// Generated tensors, made where they are used: the same bits as GenerateValues
// (src/cases/generated_data.h) without a copy over the bus. Common rules of launchers:
// kernels/device/arguments.h. Thread-safe.
#ifndef DRAFTMARK_KERNELS_DRAFT_GENERATE_VALUES_H_
#define DRAFTMARK_KERNELS_DRAFT_GENERATE_VALUES_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct GenerateValuesArgs {
  std::uint64_t seed = 0;  // SeedOfTensor
  double offset = 0;       // values lie in [offset - scale, offset + scale)
  double scale = 0;
  BFloat16* out = nullptr;  // [count]
  std::int64_t count = 0;
};

Status LaunchGenerateValues(const GenerateValuesArgs& args, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_GENERATE_VALUES_H_
