#include "conformance/expectations/plain_toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "src/base/printable.h"

namespace draftmark {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Behind the string that begins at `at`, or where it is broken off: toml++ goes no further then either.
std::size_t BehindLine(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\n' || text[i] == quote) return text[i] == quote ? i + 1 : i;
    if (text[i] == '\\' && quote == '"' && i + 1 < text.size() && text[i + 1] != '\n') ++i;
  }
  return text.size();
}

// The same of a string of several lines. Up to two quotes behind the three belong to it too, but begin nothing.
std::size_t BehindLines(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string closing(3, quote);
  for (std::size_t i = at + 3; i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (text.substr(i, 3) == closing) {
      return i + 3;
    }
  }
  return text.size();
}

// Where a key or a value may begin, and with it a string: a quote behind anything else is an error, and no string.
bool MayBegin(char before) {
  return std::string_view("\n=,[{.").find(before) != std::string_view::npos;
}

bool IsAscii(char c) { return static_cast<unsigned char>(c) < 0x80; }

// An error, with the line, for a byte that is no ASCII, but in a comment and in a string of one line. In strings of
// several lines too: behind the end of a line toml++ looks for space. Of what is no TOML it may misjudge where strings are.
Status CheckCharacters(std::string_view text, const std::string& source) {
  const auto check = [&](std::size_t begin, std::size_t end) -> Status {
    const auto found = std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                        text.begin() + static_cast<std::ptrdiff_t>(end), IsAscii);
    if (found == text.begin() + static_cast<std::ptrdiff_t>(end)) return OkStatus();
    return DataLossError(
        fmt::format("{}:{}: expected TOML, found a character that is no ASCII outside of a comment "
                    "and of a string of one line",
                    source, 1 + std::count(text.begin(), found, '\n')));
  };
  std::size_t i = 0;
  char before = '\n';  // the last that is no space
  while (i < text.size()) {
    const char c = text[i];
    std::size_t end = i + 1;
    bool may_be_anything = false;
    if (c == '#') {
      end = std::min(text.find('\n', i), text.size());
      may_be_anything = true;
    } else if ((c == '"' || c == '\'') && MayBegin(before)) {
      may_be_anything = text.substr(i, 3) != std::string(3, c);
      end = may_be_anything ? BehindLine(text, i) : BehindLines(text, i);
    }
    if (!may_be_anything) DM_RETURN_IF_ERROR(check(i, end));
    if (c != ' ' && c != '\t') before = c;
    i = end;
  }
  return OkStatus();
}

StatusOr<toml::table> Parse(std::string_view text, const std::string& source) {
  toml::parse_result parsed = toml::parse(text, source);
  if (parsed) return std::move(parsed).table();
  return DataLossError(fmt::format("{}:{}: expected TOML, found: {}", source,
                                   parsed.error().source().begin.line,
                                   Printable(parsed.error().description())));
}

}  // namespace

StatusOr<toml::table> ParsePlainToml(std::string_view text, const std::string& source) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  DM_RETURN_IF_ERROR(CheckCharacters(text, source));
  // Where it is no TOML, toml++ skips to the next space, over whatever stands there. So it sees the text twice, first
  // without such characters: a question mark, too, may stand in comments and strings alone.
  std::string plain;
  for (const char c : text) {
    if (IsAscii(c)) {
      plain += c;
    } else {
      plain += fmt::format("?{:02x}", static_cast<unsigned char>(c));  // two keys stay two
    }
  }
  DM_RETURN_IF_ERROR(Parse(plain, source).status());
  return Parse(text, source);
}

}  // namespace draftmark
