// Patterns in which `*` stands for any text, also none; everything else stands for itself.
// Pure functions, thread-safe.
#ifndef DRAFTMARK_SRC_BASE_WILDCARD_H_
#define DRAFTMARK_SRC_BASE_WILDCARD_H_

#include <string_view>

namespace draftmark {

bool WildcardMatches(std::string_view pattern, std::string_view text);

// Whether some text matches both.
bool WildcardsOverlap(std::string_view a, std::string_view b);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_WILDCARD_H_
