// What the makers of golden files share: tensors from float64 values, bytes, digests. Internal to
// this folder.
#ifndef DRAFTMARK_CONFORMANCE_GOLDEN_FILE_BYTES_H_
#define DRAFTMARK_CONFORMANCE_GOLDEN_FILE_BYTES_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/golden/golden_set.h"
#include "src/base/sha256.h"
#include "src/base/status.h"
#include "src/cases/drafter_case.h"
#include "src/tensor/dtype.h"
#include "src/tensor/safetensors.h"

namespace draftmark {

// "draftmark 1": raised whenever the same seeds give other bytes.
std::string GeneratorName();

// Tensors of one file until it is written.
class TensorsInMemory {
 public:
  // Rounds values once, to nearest even, to BF16, F32, U32, I32 or I64.
  Status Add(const std::string& name, DType dtype, const Shape& shape,
             std::span<const double> values);
  StatusOr<std::vector<std::byte>> Serialize() const;

 private:
  struct Owned {
    std::string name;
    DType dtype;
    Shape shape;
    std::vector<std::byte> bytes;
  };
  std::vector<Owned> tensors_;
};

// Name, dtype, shape and bytes: nothing of them can change without the digest.
void DigestTensor(std::string_view name, const TensorView& view, Sha256& digest);

// Of everything that a draft reads: weights, taps, tokens and positions.
std::string DigestOfInputs(const DrafterCase& drafter_case);

// "step0: 0 15 16; step1: all": the new context rows that the stages of a case hold. Empty if all do.
std::string KeptContextRows(const DrafterCase& drafter_case);

// Fills in size and hash of the file's bytes.
void SealEntry(GoldenFile& file);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_GOLDEN_FILE_BYTES_H_
