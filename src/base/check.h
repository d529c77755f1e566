// DM_CHECK: ends the process with file, line and condition. For bugs only; bad input gets a Status.
#ifndef DRAFTMARK_SRC_BASE_CHECK_H_
#define DRAFTMARK_SRC_BASE_CHECK_H_

namespace draftmark {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

}  // namespace draftmark

#define DM_CHECK(condition)                                     \
  do {                                                          \
    if (!(condition)) [[unlikely]] {                            \
      ::draftmark::CheckFailed(__FILE__, __LINE__, #condition); \
    }                                                           \
  } while (false)

#endif  // DRAFTMARK_SRC_BASE_CHECK_H_
