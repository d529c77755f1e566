// Symbolic shapes: products such as "rows", "heads*d", "2*taps*h/group" over the keys of a case.
//
//   EvaluateDim("2*taps*h/group", keys)   // 2 * 2 * 64 / 16
//
// Factors are names of keys or decimal numbers, applied from left to right; a division must leave
// no remainder. Pure functions, thread-safe.
#ifndef DRAFTMARK_SRC_OPERATIONS_SHAPE_EXPRESSION_H_
#define DRAFTMARK_SRC_OPERATIONS_SHAPE_EXPRESSION_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"

namespace draftmark {

// The keys of one case with their values, in the order of its id.
class ShapeKeys {
 public:
  ShapeKeys() = default;
  explicit ShapeKeys(std::vector<std::pair<std::string, std::uint64_t>> values)
      : values_(std::move(values)) {}

  // Sizes that follow from the keys, for expressions; they are no part of the id.
  void Derive(std::string name, std::uint64_t value) {
    derived_.emplace_back(std::move(name), value);
  }

  bool Has(std::string_view key) const;
  // A key or a derived size, which must be there.
  std::uint64_t operator[](std::string_view key) const;
  const std::vector<std::pair<std::string, std::uint64_t>>& values() const { return values_; }

 private:
  const std::uint64_t* Find(std::string_view key) const;

  std::vector<std::pair<std::string, std::uint64_t>> values_;
  std::vector<std::pair<std::string, std::uint64_t>> derived_;
};

// INVALID_ARGUMENT for an unknown name, a malformed expression, a division with a remainder or by
// zero; OUT_OF_RANGE if a product exceeds 64 bits.
StatusOr<std::uint64_t> EvaluateDim(std::string_view expression, const ShapeKeys& keys);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_OPERATIONS_SHAPE_EXPRESSION_H_
