#include "src/operations/data_pattern.h"

#include <array>
#include <cmath>
#include <utility>

#include "src/base/counter_hash.h"

namespace draftmark {
namespace {

constexpr std::array<std::pair<DataPattern, std::string_view>, 8> kNames = {
    {{DataPattern::kUsual, ""},
     {DataPattern::kDenormal, "denormal"},
     {DataPattern::kLargest, "largest"},
     {DataPattern::kEqual, "equal"},
     {DataPattern::kTies, "ties"},
     {DataPattern::kZero, "zero"},
     {DataPattern::kNegInf, "neginf"},
     {DataPattern::kMixed, "mixed"}}};
constexpr std::array<DataPattern, 8> kPatterns = {
    DataPattern::kUsual, DataPattern::kDenormal, DataPattern::kLargest, DataPattern::kEqual,
    DataPattern::kTies,  DataPattern::kZero,     DataPattern::kNegInf,  DataPattern::kMixed};

constexpr std::uint16_t kSign = 0x8000;
constexpr std::uint16_t kPoison = 0xFFFF;  // what nobody may read stays so
constexpr std::uint16_t kMaximum = 0x7F7F;
constexpr std::uint16_t kMinusInfinity = 0xFF80;

BFloat16 FromBits(std::uint64_t bits) {
  BFloat16 value;
  value.bits = static_cast<std::uint16_t>(bits);
  return value;
}

BFloat16 Largest(int exponent, std::uint64_t random) {
  const std::uint16_t sign = random % 2 == 0 ? 0 : kSign;
  // Half of them the very largest, where nothing is computed with them.
  if (exponent == 127 && random / 2 % 2 == 0) return FromBits(sign | kMaximum);
  const std::uint64_t fraction = random / 4 % 0x80;
  const auto biased = static_cast<std::uint32_t>(exponent + 127);
  return FromBits(sign | (std::uint64_t{biased} << 7) |
                  (exponent == 127 ? fraction & 0x7E : fraction));
}

BFloat16 ValueOf(DataPattern pattern, const Extreme& extreme, std::uint64_t random,
                 std::uint64_t row, BFloat16 first_of_row, BFloat16 usual) {
  switch (pattern) {
    case DataPattern::kDenormal:
      return FromBits((random % 2 == 0 ? 0u : kSign) | (1 + random / 2 % 0x7F));
    case DataPattern::kLargest:
      return Largest(extreme.exponent, random);
    case DataPattern::kEqual:
      return first_of_row;
    case DataPattern::kTies: {
      constexpr std::array<double, 4> kValues = {-1, -0.5, 0.5, 1};
      return BFloat16::FromDouble(kValues[random % 4]);
    }
    case DataPattern::kZero:
      return FromBits(random % 2 == 0 ? 0u : kSign);
    case DataPattern::kNegInf:
      if (!extreme.infinite) return usual;
      return row % 4 == 3 || random % 2 == 0 ? FromBits(kMinusInfinity) : usual;
    case DataPattern::kUsual:
    case DataPattern::kMixed:
      break;
  }
  return usual;
}

}  // namespace

std::span<const DataPattern> AllDataPatterns() { return kPatterns; }

std::string_view DataPatternName(DataPattern pattern) {
  for (const auto& [known, name] : kNames) {
    if (known == pattern) return name;
  }
  return "";
}

std::optional<DataPattern> FindDataPattern(std::string_view name) {
  for (const auto& [pattern, known] : kNames) {
    if (known == name) return pattern;
  }
  return std::nullopt;
}

void ApplyPattern(DataPattern pattern, const Extreme& extreme, std::uint64_t seed,
                  std::span<BFloat16> values, std::uint64_t columns) {
  if (pattern == DataPattern::kUsual || columns == 0) return;
  for (std::uint64_t begin = 0; begin < values.size(); begin += columns) {
    const std::uint64_t row = begin / columns;
    DataPattern of_row = pattern;
    if (pattern == DataPattern::kMixed) {
      of_row = kPatterns[BitsAt(~seed, row) % (kPatterns.size() - 1)];  // the last is kMixed itself
    }
    const BFloat16 first = values[begin];
    for (std::uint64_t i = begin; i < begin + columns && i < values.size(); ++i) {
      if (values[i].bits == kPoison) continue;
      values[i] = ValueOf(of_row, extreme, BitsAt(seed, i), row, first, values[i]);
    }
  }
}

}  // namespace draftmark
