#include "src/base/json_nonfinite.h"

#include <algorithm>
#include <array>

namespace draftmark::internal {
namespace {

// Bare non-finite tokens become strings with this prefix (a private-use character), so that the
// strict parser takes them and every numeric read refuses them.
constexpr std::string_view kNonfinitePrefix = "\xEE\x80\x80";
constexpr std::array<std::string_view, 3> kNonfiniteTokens = {"NaN", "Infinity", "-Infinity"};
// What a token grows by: the prefix and two quotes.
constexpr std::size_t kQuotingAdds = kNonfinitePrefix.size() + 2;

bool IsDelimiter(char c) {
  return c == ',' || c == ':' || c == '[' || c == ']' || c == '{' || c == '}' || c == ' ' ||
         c == '\t' || c == '\n' || c == '\r';
}

}  // namespace

std::string_view NonfiniteToken(std::string_view text) {
  if (!text.starts_with(kNonfinitePrefix)) return "";
  text.remove_prefix(kNonfinitePrefix.size());
  const auto found = std::find(kNonfiniteTokens.begin(), kNonfiniteTokens.end(), text);
  return found != kNonfiniteTokens.end() ? *found : std::string_view();
}

std::string QuoteNonfinite(std::string_view text, std::vector<QuotedToken>& tokens) {
  std::string out;
  out.reserve(text.size() + 64);
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      out.push_back(c);
      if (c == '\\' && i + 1 < text.size()) {
        out.push_back(text[++i]);
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    if (c == '"') in_string = true;
    bool replaced = false;
    if ((c == 'N' || c == 'I' || c == '-') && (i == 0 || IsDelimiter(text[i - 1]))) {
      for (const std::string_view token : kNonfiniteTokens) {
        const std::size_t end = i + token.size();
        if (text.substr(i, token.size()) == token &&
            (end >= text.size() || IsDelimiter(text[end]))) {
          tokens.push_back({out.size(), token.size()});
          out.append("\"").append(kNonfinitePrefix).append(token).append("\"");
          i = end - 1;
          replaced = true;
          break;
        }
      }
    }
    if (!replaced) out.push_back(c);
  }
  return out;
}

std::size_t OriginalCount(const std::vector<QuotedToken>& tokens, std::size_t count) {
  std::size_t added = 0;
  for (const QuotedToken& token : tokens) {
    if (count <= token.begin) break;
    const std::size_t inside = std::min(count - token.begin, token.size + kQuotingAdds);
    added += inside - std::min(inside, token.size);
  }
  return count - added;
}

std::string WithOriginalTokens(std::string message) {
  const std::string prefix(kNonfinitePrefix);
  for (const std::string_view token : kNonfiniteTokens) {
    const std::string quoted = '"' + prefix + std::string(token) + '"';
    for (std::size_t at = message.find(quoted); at != std::string::npos;
         at = message.find(quoted)) {
      message.replace(at, quoted.size(), token);
    }
  }
  return message;
}

}  // namespace draftmark::internal
