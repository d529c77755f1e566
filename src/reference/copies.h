// The copies between the steps of a forward: exact, whatever the arithmetic.
#ifndef DRAFTMARK_SRC_REFERENCE_COPIES_H_
#define DRAFTMARK_SRC_REFERENCE_COPIES_H_

#include <algorithm>
#include <cstddef>
#include <span>

#include "src/reference/numeric.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::reference {

// A BF16 row as N stores it: taps on their way into a pass, the Markov head's embedding.
template <typename N>
void CopyRow(std::span<const BFloat16> row, std::span<typename N::Storage> out) {
  for (std::size_t i = 0; i < row.size(); ++i) out[i] = N::Store(row[i].ToDouble());
}

// Which half of a layer's columns in the fused context projection [rows, layers * 2 * width].
enum class FusedPart : std::size_t { kKey = 0, kValue = 1 };

// K or V of one layer, gathered to [rows, width] (spec/drafter.md section 3.4).
template <typename Storage>
void CopyFusedPart(const Storage* fused, std::size_t rows, std::size_t layers, std::size_t width,
                   std::size_t layer, FusedPart part, Storage* out) {
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t block = (row * layers + layer) * 2 + static_cast<std::size_t>(part);
    std::copy_n(fused + block * width, width, out + row * width);
  }
}

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_COPIES_H_
