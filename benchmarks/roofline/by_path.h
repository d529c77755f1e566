// ByPath: something of each of the two ways in which a draft may be computed.
#ifndef DRAFTMARK_BENCHMARKS_ROOFLINE_BY_PATH_H_
#define DRAFTMARK_BENCHMARKS_ROOFLINE_BY_PATH_H_

#include <optional>

namespace draftmark {

// Of the simple path, the checked fallback, and of the fast one, where there is one.
template <typename T>
struct ByPath {
  T simple{};
  std::optional<T> fast;

  // Of the path that a draft takes by default.
  const T& taken() const { return fast ? *fast : simple; }
};

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_ROOFLINE_BY_PATH_H_
