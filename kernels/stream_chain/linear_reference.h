// Float64 references of a linear step's parts, and how far the kernel may be from them.
#ifndef DRAFTMARK_KERNELS_STREAM_CHAIN_LINEAR_REFERENCE_H_
#define DRAFTMARK_KERNELS_STREAM_CHAIN_LINEAR_REFERENCE_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

inline constexpr std::int64_t kReferenceRows = 16;

// A value before its rounding, and how far the kernel's may be from it.
struct Near {
  double value = 0;
  double error = 0;

  // Of the rounded one: half a step of BF16, at most 2^-8 of it, and a little for functions in FP32.
  double Bound() const { return std::abs(value) / 250 + 1.01 * error; }
};

// The products of 16 rows with a matrix.
class Product {
 public:
  // `normed`: the kernel makes x itself, and may be a step of BF16 aside in two or three elements of a row.
  Product(const std::vector<BFloat16>& x, const std::vector<BFloat16>& weight, std::int64_t n,
          std::int64_t k, bool normed)
      : n_(n),
        // The sums of FP32 lose less than 2^-20 of the terms' sizes with each product of 16 columns,
        // of which at most 2^7 follow each other here.
        slack_(0x1p-12 + (normed ? 0.125 / static_cast<double>(k) : 0)),
        sums_(static_cast<std::size_t>(kReferenceRows * n)),
        sizes_(sums_.size()) {
    std::vector<double> turned(x.size());  // [k, 16]
    for (std::int64_t row = 0; row < kReferenceRows; ++row) {
      for (std::int64_t i = 0; i < k; ++i) {
        turned[i * kReferenceRows + row] = x[row * k + i].ToDouble();
      }
    }
    for (std::int64_t output = 0; output < n; ++output) {
      double sums[kReferenceRows] = {}, sizes[kReferenceRows] = {};
      for (std::int64_t i = 0; i < k; ++i) {
        const double w = weight[output * k + i].ToDouble();
        for (std::int64_t row = 0; row < kReferenceRows; ++row) {
          const double term = turned[i * kReferenceRows + row] * w;
          sums[row] += term;
          sizes[row] += std::abs(term);
        }
      }
      for (std::int64_t row = 0; row < kReferenceRows; ++row) {
        sums_[row * n + output] = sums[row];
        sizes_[row * n + output] = sizes[row];
      }
    }
  }

  Near At(std::int64_t row, std::int64_t output, double bias = 0) const {
    const std::int64_t i = row * n_ + output;
    return {sums_[i] + bias, slack_ * (sizes_[i] + std::abs(bias))};
  }

 private:
  std::int64_t n_;
  double slack_;
  std::vector<double> sums_, sizes_;
};

inline Near Bent(const Near& sum, double multiplier, double softcap) {
  const Near z = {sum.value * multiplier, sum.error * multiplier};
  // tanh is nowhere steeper than 1.
  return softcap > 0 ? Near{softcap * std::tanh(z.value / softcap), z.error} : z;
}

// Of gate and up, each of which is rounded before.
inline Near SwiGlu(const Near& gate, const Near& up) {
  const double silu = gate.value / (1 + std::exp(-gate.value));
  // g * sigmoid(g) is nowhere steeper than 1.1.
  const double silu_error = 1.1 * gate.Bound();
  return {silu * up.value,
          silu_error * (std::abs(up.value) + up.Bound()) + std::abs(silu) * up.Bound()};
}

// Sums of squares of parts of 16 rows, [parts, 16], in multiples of 2^-8: sums of these are exact in any
// order, the same for any number of parts, and so is a norm by them.
inline std::vector<float> SumsOfSquares(const std::vector<BFloat16>& x, std::int64_t k,
                                        std::int64_t parts) {
  const auto coarse = [](double value) { return std::round(value * 256) / 256; };
  std::vector<float> sums(static_cast<std::size_t>(kReferenceRows * parts));
  for (std::int64_t row = 0; row < kReferenceRows; ++row) {
    double total = 0, part = 0, given = 0;
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < k; ++i) {
      // A part ends here, or several that have no column.
      for (; at < i * parts / k; ++at, part = 0) {
        sums[at * kReferenceRows + row] = static_cast<float>(coarse(part));
        given += coarse(part);
      }
      const double value = x[row * k + i].ToDouble();
      part += value * value;
      total += value * value;
    }
    sums[at * kReferenceRows + row] = static_cast<float>(coarse(total) - given);
  }
  return sums;
}

// RMSNorm of 16 rows, in FP32 as the kernel does it.
inline std::vector<BFloat16> Normed(const std::vector<BFloat16>& x,
                                    const std::vector<BFloat16>& weight,
                                    const std::vector<float>& sums, float epsilon, std::int64_t k) {
  const auto parts = static_cast<std::int64_t>(sums.size()) / kReferenceRows;
  std::vector<BFloat16> normed(x.size());
  for (std::int64_t row = 0; row < kReferenceRows; ++row) {
    float sum = 0;
    for (std::int64_t part = 0; part < parts; ++part) sum += sums[part * kReferenceRows + row];
    const float scale = 1.0F / std::sqrt(sum / static_cast<float>(k) + epsilon);
    for (std::int64_t i = 0; i < k; ++i) {
      normed[row * k + i] =
          BFloat16::FromFloat(x[row * k + i].ToFloat() * scale * weight[i].ToFloat());
    }
  }
  return normed;
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_STREAM_CHAIN_LINEAR_REFERENCE_H_
