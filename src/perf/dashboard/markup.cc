#include "src/perf/dashboard/markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace draftmark {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// One code point of UTF-8 and its length; length 0 where the bytes are none.
struct CodePoint {
  char32_t value = 0;
  std::size_t length = 0;
};

CodePoint CodePointAt(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {};
  char32_t value = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return {};
    value = value << 6 | (byte(i) & 0x3Fu);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kSmallest[length] || is_surrogate || value > 0x10FFFF) return {};
  return {value, length};
}

// Controls, marks and overrides of writing direction, line separators, the byte order mark and
// what is no character: none is seen, and some change how the text around them is read.
bool IsUnseen(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x61C || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
         (c >= 0xFDD0 && c <= 0xFDEF) || (c & 0xFFFE) == 0xFFFE;
}

// Every code point through `write(value, bytes)`; what is no UTF-8 as U+FFFD.
template <typename Write>
void ForEachCodePoint(std::string_view text, Write&& write) {
  while (!text.empty()) {
    const CodePoint point = CodePointAt(text);
    if (point.length == 0) {
      write(char32_t{0xFFFD}, kReplacement);
      text.remove_prefix(1);
    } else {
      write(point.value, text.substr(0, point.length));
      text.remove_prefix(point.length);
    }
  }
}

}  // namespace

std::string VisibleText(std::string_view text) {
  std::string seen;
  ForEachCodePoint(text, [&](char32_t value, std::string_view bytes) {
    if (IsUnseen(value)) {
      seen += fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(value));
    } else {
      seen += bytes;
    }
  });
  return seen;
}

std::string HtmlText(std::string_view text) {
  std::string html;
  for (const char c : VisibleText(text)) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string ScriptJson(const OrderedJson& json) {
  const std::string text = json.dump(-1, ' ', true, OrderedJson::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";  // only strings can hold one
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string CsvField(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) {
    field += c;
    if (c == '"') field += c;
  }
  return field + "\"";
}

std::string OpenMetricsLabel(std::string_view text) {
  std::string label;
  ForEachCodePoint(text, [&](char32_t value, std::string_view bytes) {
    if (value == '\n') {
      label += "\\n";
    } else {
      if (value == '\\' || value == '"') label += '\\';
      label += bytes;
    }
  });
  return label;
}

std::string Base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= count ? kDigits[group >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

}  // namespace draftmark
