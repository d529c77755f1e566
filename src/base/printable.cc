#include "src/base/printable.h"

namespace draftmark {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

bool IsAsciiControl(char c) { return (c >= 0 && c < ' ') || c == 0x7f; }

// U+0080 to U+009F, of which some terminals obey U+009B as they do ESC [.
bool IsLatinControl(std::string_view text, std::size_t at) {
  return text[at] == '\xc2' && at + 1 < text.size() &&
         static_cast<unsigned char>(text[at + 1]) >= 0x80 &&
         static_cast<unsigned char>(text[at + 1]) <= 0x9f;
}

std::string Escape(std::string_view text, bool keep_lines) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n' && keep_lines) {
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (IsAsciiControl(c)) {
      out += {'\\', 'x', kDigits[c >> 4], kDigits[c & 15]};
    } else if (IsLatinControl(text, i)) {
      const auto low = static_cast<unsigned char>(text[++i]);
      out += {'\\', 'u', '0', '0', kDigits[low >> 4], kDigits[low & 15]};
    } else {
      out += c;
    }
  }
  return out;
}

// Where the character of UTF-8 begins that `at` is in.
std::size_t CharacterAt(std::string_view text, std::size_t at) {
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

}  // namespace

std::string Printable(std::string_view text) {
  if (text.size() <= kLongestPrintable) return Escape(text, false);
  return Escape(text.substr(0, CharacterAt(text, kLongestPrintable)), false) + "...";
}

std::string OneLine(std::string_view text) { return Escape(text, false); }

std::string WithoutMiddle(std::string_view text) {
  if (text.size() <= kLongestPrintable) return std::string(text);
  const std::size_t begin = CharacterAt(text, kLongestPrintable / 2);
  const std::size_t end = CharacterAt(text, text.size() - kLongestPrintable / 2);
  return std::string(text.substr(0, begin)) + " ... " + std::string(text.substr(end));
}

std::string WithoutControls(std::string message) {
  const auto bad = [&](std::size_t i) {
    return (IsAsciiControl(message[i]) && message[i] != '\n') || IsLatinControl(message, i);
  };
  for (std::size_t i = 0; i < message.size(); ++i) {
    if (bad(i)) return Escape(message, true);
  }
  return message;
}

}  // namespace draftmark
