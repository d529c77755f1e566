#include "src/base/wildcard.h"

#include <cstddef>
#include <vector>

namespace draftmark {

bool WildcardsOverlap(std::string_view a, std::string_view b) {
  if (a.find('*') == std::string_view::npos) return WildcardMatches(b, a);
  if (b.find('*') == std::string_view::npos) return WildcardMatches(a, b);
  // overlap[i][j]: some text matches both a's rest from i and b's rest from j. From the back; the
  // work is the product of the lengths, whatever the stars.
  std::vector<std::vector<bool>> overlap(a.size() + 1, std::vector<bool>(b.size() + 1, false));
  for (std::size_t i = a.size() + 1; i-- > 0;) {
    for (std::size_t j = b.size() + 1; j-- > 0;) {
      const bool star_a = i < a.size() && a[i] == '*';
      const bool star_b = j < b.size() && b[j] == '*';
      if (i == a.size() && j == b.size()) {
        overlap[i][j] = true;
      } else if (star_a || star_b) {
        // One star ends here, or takes the other's next character (or star) along.
        overlap[i][j] = (star_a && overlap[i + 1][j]) || (star_b && overlap[i][j + 1]) ||
                        (star_a && j < b.size() && overlap[i][j + 1]) ||
                        (star_b && i < a.size() && overlap[i + 1][j]);
      } else {
        overlap[i][j] = i < a.size() && j < b.size() && a[i] == b[j] && overlap[i + 1][j + 1];
      }
    }
  }
  return overlap[0][0];
}

bool WildcardMatches(std::string_view pattern, std::string_view text) {
  // The usual walk: on a mismatch the last star takes one character more.
  std::size_t p = 0, t = 0, after_star = std::string_view::npos, taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      taken = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (after_star != std::string_view::npos) {
      p = after_star;
      t = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace draftmark
