// Distances in units in the last place of a storage format. Pure functions, thread-safe.
#ifndef DRAFTMARK_SRC_COMPARE_ULP_H_
#define DRAFTMARK_SRC_COMPARE_ULP_H_

namespace draftmark {

enum class UlpUnit { kBf16, kF32, kF64 };
const char* UlpUnitName(UlpUnit unit);  // "BF16", "F32", "F64"

// The spacing of `unit`'s numbers at `value` (that of its subnormals near 0; NaN for a non-finite
// value).
double Spacing(double value, UlpUnit unit);

// |got - expected| in spacings at `expected`. -0 equals 0 and NaN equals NaN (distance 0); a NaN or
// infinity on one side only is an infinite distance.
double UlpDistance(double expected, double got, UlpUnit unit);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_COMPARE_ULP_H_
