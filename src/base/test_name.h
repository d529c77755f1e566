// A name of something, such as a file or a case, as one that GoogleTest takes for a parameter's.
//
//   INSTANTIATE_TEST_SUITE_P(Golden, CaseTest, ValuesIn(names),
//                            [](const auto& run) { return TestName(run.param); });
//
// Letters and digits stay, all else becomes '_'. Pure function, thread-safe.
#ifndef DRAFTMARK_SRC_BASE_TEST_NAME_H_
#define DRAFTMARK_SRC_BASE_TEST_NAME_H_

#include <string>
#include <string_view>

#include "src/base/ascii.h"

namespace draftmark {

inline std::string TestName(std::string_view text) {
  std::string name(text);
  for (char& c : name) {
    if (!IsAsciiAlnum(c)) c = '_';
  }
  return name;
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_TEST_NAME_H_
