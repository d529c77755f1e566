// CheckedU64: unsigned 64-bit arithmetic that remembers an overflow instead of wrapping.
//
//   const CheckedU64 rows = CheckedU64(m) * h * 2;   // reads like the formula it implements
//   if (!rows.ok()) return OutOfRangeError("hidden_states: ...");
//
// An overflow anywhere in an expression makes its result invalid, even if a later factor is zero.
// No floating point. A value type; thread-safe as an integer is.
#ifndef DRAFTMARK_SRC_BASE_CHECKED_H_
#define DRAFTMARK_SRC_BASE_CHECKED_H_

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "src/base/check.h"

namespace draftmark {

class CheckedU64 {
 public:
  constexpr CheckedU64() = default;
  constexpr CheckedU64(std::uint64_t value) : value_(value) {}  // NOLINT: formulas mix both types

  constexpr bool ok() const { return ok_; }
  // Must be ok().
  constexpr std::uint64_t value() const {
    DM_CHECK(ok_);
    return value_;
  }

  friend constexpr CheckedU64 operator+(CheckedU64 a, CheckedU64 b) {
    CheckedU64 result;
    result.ok_ = a.ok_ && b.ok_ && !__builtin_add_overflow(a.value_, b.value_, &result.value_);
    return result;
  }
  friend constexpr CheckedU64 operator*(CheckedU64 a, CheckedU64 b) {
    CheckedU64 result;
    result.ok_ = a.ok_ && b.ok_ && !__builtin_mul_overflow(a.value_, b.value_, &result.value_);
    return result;
  }
  CheckedU64& operator+=(CheckedU64 b) { return *this = *this + b; }
  CheckedU64& operator*=(CheckedU64 b) { return *this = *this * b; }

  // Truncating and rounding-up division; the divisor must not be zero.
  friend constexpr CheckedU64 FloorDiv(CheckedU64 a, std::uint64_t divisor) {
    DM_CHECK(divisor != 0);
    a.value_ /= divisor;
    return a;
  }
  friend constexpr CheckedU64 CeilDiv(CheckedU64 a, std::uint64_t divisor) {
    DM_CHECK(divisor != 0);
    a.value_ = a.value_ / divisor + (a.value_ % divisor != 0 ? 1 : 0);
    return a;
  }
  // The smallest multiple of `multiple` that is not below `a`.
  friend constexpr CheckedU64 RoundUp(CheckedU64 a, std::uint64_t multiple) {
    return CeilDiv(a, multiple) * multiple;
  }
  // The largest of all; invalid if any operand is.
  static constexpr CheckedU64 MaxOf(std::initializer_list<CheckedU64> values) {
    CheckedU64 result;
    for (const CheckedU64 v : values) {
      result.ok_ = result.ok_ && v.ok_;
      result.value_ = std::max(result.value_, v.value_);
    }
    return result;
  }
  friend constexpr CheckedU64 Min(CheckedU64 a, CheckedU64 b) {
    CheckedU64 result;
    result.ok_ = a.ok_ && b.ok_;
    result.value_ = std::min(a.value_, b.value_);
    return result;
  }

 private:
  std::uint64_t value_ = 0;
  bool ok_ = true;
};

// A free function, since a braced list takes part in no argument-dependent look-up.
constexpr CheckedU64 Max(std::initializer_list<CheckedU64> values) {
  return CheckedU64::MaxOf(values);
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_CHECKED_H_
