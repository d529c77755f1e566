#include "src/operations/shape_expression.h"

#include <fmt/format.h>

#include <charconv>

#include "src/base/check.h"

namespace draftmark {
namespace {

StatusOr<std::uint64_t> EvaluateFactor(std::string_view factor, const ShapeKeys& keys) {
  if (keys.Has(factor)) return keys[factor];
  std::uint64_t number = 0;
  const char* const end = factor.data() + factor.size();
  const auto [rest, error] = std::from_chars(factor.data(), end, number);
  if (error == std::errc() && rest == end && !factor.empty()) return number;
  return InvalidArgumentError(fmt::format("\"{}\" is neither a key nor a number", factor));
}

}  // namespace

const std::uint64_t* ShapeKeys::Find(std::string_view key) const {
  for (const auto* list : {&values_, &derived_}) {
    for (const auto& [name, value] : *list) {
      if (name == key) return &value;
    }
  }
  return nullptr;
}

bool ShapeKeys::Has(std::string_view key) const { return Find(key) != nullptr; }

std::uint64_t ShapeKeys::operator[](std::string_view key) const {
  const std::uint64_t* const value = Find(key);
  DM_CHECK(value != nullptr);
  return *value;
}

StatusOr<std::uint64_t> EvaluateDim(std::string_view expression, const ShapeKeys& keys) {
  std::uint64_t result = 1;
  char operation = '*';
  std::string_view rest = expression;
  while (true) {
    const std::size_t end = rest.find_first_of("*/");
    DM_ASSIGN_OR_RETURN(const std::uint64_t factor, EvaluateFactor(rest.substr(0, end), keys));
    if (operation == '*') {
      if (__builtin_mul_overflow(result, factor, &result)) {
        return OutOfRangeError(fmt::format("\"{}\" exceeds 64 bits", expression));
      }
    } else {
      if (factor == 0 || result % factor != 0) {
        return InvalidArgumentError(
            fmt::format("\"{}\": {} is not divisible by {}", expression, result, factor));
      }
      result /= factor;
    }
    if (end == std::string_view::npos) return result;
    operation = rest[end];
    rest.remove_prefix(end + 1);
  }
}

}  // namespace draftmark
