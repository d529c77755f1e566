#include "src/compare/ulp.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace draftmark {

namespace {

struct Format {
  int fraction_bits;      // stored ones
  int smallest_exponent;  // of the normal numbers
};

Format FormatOf(UlpUnit unit) {
  switch (unit) {
    case UlpUnit::kBf16:
      return {7, -126};
    case UlpUnit::kF32:
      return {23, -126};
    case UlpUnit::kF64:
      break;
  }
  return {52, -1022};
}

}  // namespace

const char* UlpUnitName(UlpUnit unit) {
  switch (unit) {
    case UlpUnit::kBf16:
      return "BF16";
    case UlpUnit::kF32:
      return "F32";
    case UlpUnit::kF64:
      break;
  }
  return "F64";
}

double Spacing(double value, UlpUnit unit) {
  if (!std::isfinite(value)) return std::numeric_limits<double>::quiet_NaN();
  const auto [fraction_bits, smallest_exponent] = FormatOf(unit);
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
