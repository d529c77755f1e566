// Internal to json.cc and json_object.cc: the bare tokens NaN, Infinity and -Infinity, which are no
// JSON. They become strings for the strict parser, and are known again by how these begin.
//
// Pure functions, thread-safe.
#ifndef DRAFTMARK_SRC_BASE_JSON_NONFINITE_H_
#define DRAFTMARK_SRC_BASE_JSON_NONFINITE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace draftmark::internal {

// Where a token stands.
struct QuotedToken {
  std::size_t begin;  // in the new text
  std::size_t size;   // in the original one
};

// Replaces NaN, Infinity and -Infinity outside strings. Token boundaries are checked, so
// `Infinityx` stays an error.
std::string QuoteNonfinite(std::string_view text, std::vector<QuotedToken>& tokens);

// How much of the original text has been read when `count` bytes of the quoted one have.
std::size_t OriginalCount(const std::vector<QuotedToken>& tokens, std::size_t count);

// The token that was made this string, "" if it is a string of the file.
std::string_view NonfiniteToken(std::string_view text);

// A message of the parser's, with tokens as they were.
std::string WithOriginalTokens(std::string message);

}  // namespace draftmark::internal

#endif  // DRAFTMARK_SRC_BASE_JSON_NONFINITE_H_
