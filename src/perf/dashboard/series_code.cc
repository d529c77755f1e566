#include "src/perf/dashboard/series_code.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/perf/dashboard/markup.h"

namespace draftmark {
namespace {

constexpr int kDigits = 6;
constexpr double kWidestRange = 1e9;  // times the smallest: 6 + 9 digits are exact in a double

bool IsValue(const std::optional<double>& value) {
  return value && std::isfinite(*value) && *value > 0;
}

void AppendVarint(std::uint64_t number, std::string& bytes) {
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  bytes += static_cast<char>(number);
}

// -1 for what is no digit.
int Base64Digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

StatusOr<std::string> FromBase64(std::string_view text) {
  const auto fail = [] { return DataLossError("series: expected base64"); };
  if (text.size() % 4 != 0) return fail();
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  std::uint32_t bits = 0;
  int have = 0;
  for (const char c : text) {
    const int digit = Base64Digit(c);
    if (digit < 0) return fail();
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    bytes += static_cast<char>(bits >> have & 0xFF);
  }
  return bytes;
}

}  // namespace

SeriesCode EncodeSeries(std::span<const std::optional<double>> values) {
  double smallest = 0;
  for (const std::optional<double>& value : values) {
    if (IsValue(value) && (smallest == 0 || *value < smallest)) smallest = *value;
  }
  SeriesCode code;
  if (smallest > 0)
    code.exponent = static_cast<int>(std::floor(std::log10(smallest))) + 1 - kDigits;
  std::string bytes;
  std::int64_t last = 0;
  for (const std::optional<double>& value : values) {
    if (!IsValue(value) || *value > smallest * kWidestRange) {
      AppendVarint(0, bytes);
      continue;
    }
    const std::int64_t integer =
        std::llround(code.exponent < 0 ? *value * std::pow(10.0, -code.exponent)
                                       : *value / std::pow(10.0, code.exponent));
    const std::int64_t step = integer - last;
    const std::uint64_t zigzag = step < 0 ? (static_cast<std::uint64_t>(-step) << 1) - 1
                                          : static_cast<std::uint64_t>(step) << 1;
    AppendVarint(zigzag + 1, bytes);
    last = integer;
  }
  code.base64 = Base64(bytes);
  return code;
}

StatusOr<std::vector<std::optional<double>>> DecodeSeries(const SeriesCode& code) {
  DM_ASSIGN_OR_RETURN(const std::string bytes, FromBase64(code.base64));
  std::vector<std::optional<double>> values;
  std::uint64_t number = 0;
  int shift = 0;
  std::int64_t last = 0;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (shift > 56) return DataLossError("series: expected a number below 2^63");
    number |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    shift += 7;
    if (byte >= 0x80) continue;
    if (number == 0) {
      values.emplace_back();
    } else {
      const std::uint64_t zigzag = number - 1;
      last += (zigzag & 1) != 0 ? -static_cast<std::int64_t>((zigzag + 1) >> 1)
                                : static_cast<std::int64_t>(zigzag >> 1);
      // Powers up to 10^22 are exact, those below 1 are not.
      const double scale = std::pow(10.0, std::abs(code.exponent));
      const double integer = static_cast<double>(last);
      values.emplace_back(code.exponent < 0 ? integer / scale : integer * scale);
    }
    number = 0;
    shift = 0;
  }
  if (shift != 0) return DataLossError("series: ends within a number");
  return values;
}

}  // namespace draftmark
