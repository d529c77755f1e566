// What moved between two versions of a safetensors file, tensor by tensor, in ULPs.
// Pure functions, thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_GOLDEN_TENSOR_DIFF_H_
#define DRAFTMARK_CONFORMANCE_GOLDEN_TENSOR_DIFF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status.h"
#include "src/tensor/safetensors.h"

namespace draftmark {

struct TensorMove {
  std::string name;
  // "added", "removed", "shape [2] -> [3]", "dtype F64 -> F32", "moved"
  std::string what;
  std::uint64_t elements = 0;  // of the new tensor, or of a removed one
  std::uint64_t moved = 0;     // elements with other values, of a tensor that moved
  std::string histogram;       // distances in ULPs; empty for integers
  std::string worst;           // the element that moved farthest
};

// Tensors that differ, by name; empty if none does. Values are compared, so that a NaN stays equal
// to itself; a zero that changes its sign is no move.
StatusOr<std::vector<TensorMove>> DiffTensors(const SafetensorsFile& before,
                                              const SafetensorsFile& after);

// The same for any two golden files; files that are no safetensors are one tensor named "bytes".
StatusOr<std::vector<TensorMove>> DiffFiles(const std::string& name,
                                            std::shared_ptr<const FileBytes> before,
                                            std::shared_ptr<const FileBytes> after);

// "  rows=1,h=1/y: moved, 3 of 16 elements; BF16 ULPs: 0: 13 | <=1: 3; worst [0, 2]: ..."
std::string DescribeMove(const TensorMove& move);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_GOLDEN_TENSOR_DIFF_H_
