// Characters and numbers as files mean them, whatever locale the process has.
//
//   ToAsciiLower("DFlash")          // "dflash", also where Turkish keeps the I
//   LeadingNumber("1.5")                 // 1.5, also where numbers have a decimal comma
//
// The C library's tolower, isalnum and strtod ask the locale, which a program that embeds us may have set; Python's
// users do. Pure, thread-safe.
#ifndef DRAFTMARK_SRC_BASE_ASCII_H_
#define DRAFTMARK_SRC_BASE_ASCII_H_

#include <charconv>
#include <string>
#include <string_view>

namespace draftmark {

constexpr bool IsAsciiDigit(char c) { return c >= '0' && c <= '9'; }
constexpr char AsciiLower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr char AsciiUpper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}
constexpr bool IsAsciiAlnum(char c) {
  return IsAsciiDigit(c) || (AsciiLower(c) >= 'a' && AsciiLower(c) <= 'z');
}

inline std::string ToAsciiLower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = AsciiLower(c);
  return lower;
}

// The number that `text` begins with; 0 if it begins with none.
inline double LeadingNumber(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_ASCII_H_
