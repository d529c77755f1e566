#include "src/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace draftmark {

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace draftmark
