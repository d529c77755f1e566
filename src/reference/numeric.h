// The two arithmetics of the reference: one source, two numeric policies.
//
// Every operation is written once as a template over a policy N. It reads stored values with
// N::Load, computes in float64, and writes with N::Store, which is called exactly at the rounding
// points that spec/drafter.md declares normative ("rne"): for Exact it keeps the float64, for Bf16
// it rounds once, to nearest even, from float64.
#ifndef DRAFTMARK_SRC_REFERENCE_NUMERIC_H_
#define DRAFTMARK_SRC_REFERENCE_NUMERIC_H_

#include "src/backend/draft_session.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::reference {

struct ExactNumeric {
  using Storage = double;
  using Unary = double;  // element of sel_vals
  static constexpr Precision kPrecision = Precision::kExact;
  static double Load(double value) { return value; }
  static double Store(double value) { return value; }
  // RoPE frequency as tabulated, and the angle of a position (spec/drafter.md section 4.3).
  static double Frequency(double frequency) { return frequency; }
  static double Angle(double position, double frequency) { return position * frequency; }
};

struct Bf16Numeric {
  using Storage = BFloat16;
  using Unary = float;
  static constexpr Precision kPrecision = Precision::kBf16;
  static double Load(BFloat16 value) { return value.ToDouble(); }
  static BFloat16 Store(double value) { return BFloat16::FromDouble(value); }
  // The rule asks for an FP32 table and an FP32 product: their error is part of the definition.
  static double Frequency(double frequency) { return static_cast<float>(frequency); }
  static double Angle(double position, double frequency) {
    return static_cast<float>(position) * static_cast<float>(frequency);
  }
};

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_NUMERIC_H_
