#include "src/compare/ulp.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace draftmark {

const char* UlpUnitName(UlpUnit unit) { return unit == UlpUnit::kBf16 ? "BF16" : "F64"; }

double Spacing(double value, UlpUnit unit) {
  if (!std::isfinite(value)) return std::numeric_limits<double>::quiet_NaN();
  // Stored fraction bits, and the exponent of the smallest normal number.
  const int fraction_bits = unit == UlpUnit::kBf16 ? 7 : 52;
  const int smallest_exponent = unit == UlpUnit::kBf16 ? -126 : -1022;
  const int exponent =
      value == 0 ? smallest_exponent : std::max(std::ilogb(value), smallest_exponent);
  return std::ldexp(1.0, exponent - fraction_bits);
}

double UlpDistance(double expected, double got, UlpUnit unit) {
  if (expected == got || (std::isnan(expected) && std::isnan(got))) return 0;
  if (!std::isfinite(expected) || !std::isfinite(got))
    return std::numeric_limits<double>::infinity();
  return std::abs(got - expected) / Spacing(expected, unit);
}

}  // namespace draftmark
