// Makes a failing case smaller as long as it goes on failing in the same way.
//
//   const Shrunk<Case> least = Shrink<Case>(failing, Simpler, StillFails, {.most_tries = 300});
//
// Greedy: of the simpler cases that `simpler` offers, the boldest first, the first that still fails
// is taken, until none does. Deterministic if both functions are.
#ifndef DRAFTMARK_CONFORMANCE_RANDOM_SHRINK_H_
#define DRAFTMARK_CONFORMANCE_RANDOM_SHRINK_H_

#include <functional>
#include <utility>
#include <vector>

namespace draftmark {

template <typename Case>
struct Shrunk {
  Case least;
  int tries = 0;
  bool finished = false;  // nothing simpler fails; false: out of tries
};

template <typename Case>
Shrunk<Case> Shrink(Case failing, const std::function<std::vector<Case>(const Case&)>& simpler,
                    const std::function<bool(const Case&)>& still_fails, int most_tries) {
  Shrunk<Case> shrunk = {.least = std::move(failing)};
  while (true) {
    bool smaller = false;
    for (Case& candidate : simpler(shrunk.least)) {
      if (shrunk.tries == most_tries) return shrunk;
      ++shrunk.tries;
      if (!still_fails(candidate)) continue;
      shrunk.least = std::move(candidate);
      smaller = true;
      break;
    }
    if (!smaller) {
      shrunk.finished = true;
      return shrunk;
    }
  }
}

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_RANDOM_SHRINK_H_
