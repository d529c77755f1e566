// Linear layers: y = x * W^T (+ bias), BF16 weights [out, in], float64 accumulation in a fixed
// order, one Store.
#ifndef DRAFTMARK_SRC_REFERENCE_LINEAR_H_
#define DRAFTMARK_SRC_REFERENCE_LINEAR_H_

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "src/base/parallel.h"
#include "src/faults/fault.h"
#include "src/reference/numeric.h"
#include "src/weights/weights.h"

namespace draftmark::reference {

// Sum of a[i] * b[i]. Eight partial sums, combined as a tree: the order is fixed, so every compiler
// gives the same bits, and it leaves room for vector instructions.
inline double Dot(const double* a, const double* b, std::size_t count) {
  double lane[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (std::size_t l = 0; l < 8; ++l) lane[l] += a[i + l] * b[i + l];
  }
  if (DM_FAULT(kMissingTail)) i = count;
  for (std::size_t l = 0; i < count; ++i, ++l) lane[l] += a[i] * b[i];
  if (DM_FAULT(kNondeterministicSum)) {
    // As atomic additions do: the lanes in another order each time.
    std::swap(lane[0], lane[FaultTick() * 0x9E3779B97F4A7C15 >> 61]);
  }
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

struct NoEpilogue {
  double operator()(double value) const { return value; }
};

// x: [rows, W.cols]; row r of the result starts at out[r * out_stride]. `bias` may be empty. The
// bias is added, and `epilogue` applied, to the unrounded accumulator ("rounding of small steps",
// spec/drafter.md section 1.1).
template <typename N, typename Epilogue = NoEpilogue>
void Linear(std::span<const typename N::Storage> x, std::size_t rows, const Bf16Matrix& weight,
            std::span<const BFloat16> bias, typename N::Storage* out, std::size_t out_stride,
            const Epilogue& epilogue = {}) {
  const std::size_t width = weight.cols();
  std::vector<double> input(rows * width);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = N::Load(x[i]);
  // A thread is worth its start from about a million multiplications on.
  const std::size_t grain = std::size_t{1'000'000} / std::max<std::size_t>(1, rows * width) + 1;
  // One decoded weight row for each piece, allocated here: the body must not throw.
  std::vector<double> decoded(ParallelPieces(weight.rows(), grain) * width);
  ParallelFor(weight.rows(), grain, [&](std::size_t piece, std::size_t begin, std::size_t end) {
    double* const row = decoded.data() + piece * width;
    for (std::size_t o = begin; o < end; ++o) {
      const std::span<const BFloat16> stored = weight.row(o);
      for (std::size_t i = 0; i < width; ++i) row[i] = stored[i].ToDouble();
      const double offset = bias.empty() ? 0.0 : bias[o].ToDouble();
      for (std::size_t r = 0; r < rows; ++r) {
        if (DM_FAULT(kStaleOutput) && r > 0 && o + 1 == weight.rows()) continue;
        const double sum = Dot(&input[r * width], row, width) + offset;
        out[r * out_stride + o] = N::Store(epilogue(sum));
      }
    }
  });
}

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_LINEAR_H_
