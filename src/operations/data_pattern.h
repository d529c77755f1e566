// Extreme data for operation cases: what numbers near the ends of BF16, ties and rows of one value
// do to a kernel that is right on ordinary ones.
//
//   op/argmax/rows=4,v=1025/bf16/ties      the last part of a case id; absent: ordinary data
//
// A pattern replaces the values of those operands that the operation declares in `extremes`
// (operation.h), after they were filled and prepared; poison stays poison. Values depend on the case
// id, the operand and the index only, as everywhere. Pure functions, thread-safe.
#ifndef DRAFTMARK_SRC_OPERATIONS_DATA_PATTERN_H_
#define DRAFTMARK_SRC_OPERATIONS_DATA_PATTERN_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "src/operations/operands.h"

namespace draftmark {

enum class DataPattern {
  kUsual,     // ""
  kDenormal,  // "denormal": below the smallest normal number
  kLargest,   // "largest": as large as the operand may be, both signs
  kEqual,     // "equal": every row has one value
  kTies,      // "ties": four values in all
  kZero,      // "zero": zeros of both signs
  kNegInf,    // "neginf": half of a row is -inf, and every fourth row is all of it
  kMixed,     // "mixed": each row one of the above
};
std::span<const DataPattern> AllDataPatterns();
std::string_view DataPatternName(DataPattern pattern);  // as quoted above
std::optional<DataPattern> FindDataPattern(std::string_view name);

// An operand that patterns apply to, and how far they may go.
struct Extreme {
  std::string_view operand;
  // Values are below 2^(exponent + 1) in magnitude, so that no FP32 sum of the rule overflows, which
  // has no result to compare with. 127: BF16's largest number, for values that are only moved.
  int exponent = 0;
  bool infinite = false;  // -inf has a meaning here: logits
};

// Writes `pattern` over the BF16 values of `operand`.
void ApplyPattern(DataPattern pattern, const Extreme& extreme, std::uint64_t seed,
                  std::span<BFloat16> values, std::uint64_t columns);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_OPERATIONS_DATA_PATTERN_H_
