// CatchExhausted: where host memory ends, a Status instead of an exception over a border.
//
//   Status AppendContext(...) override {
//     return CatchExhausted("append", [&]() -> Status { ... });
//   }
//
// RESOURCE_EXHAUSTED that begins with `what` for std::bad_alloc, and for a container that would be longer than any can
// be. `work` returns a Status or a StatusOr, and must leave its object as it was when it throws. Thread-safe.
#ifndef DRAFTMARK_SRC_BASE_CATCH_EXHAUSTED_H_
#define DRAFTMARK_SRC_BASE_CATCH_EXHAUSTED_H_

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace draftmark {

template <typename Work>
auto CatchExhausted(std::string_view what, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  return ResourceExhaustedError(std::string(what) + ": out of host memory");
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_CATCH_EXHAUSTED_H_
