// Where the data of this checkout lies.
//
//   const auto path = FindInCheckout("golden/configs/drafter_configs.json", [](const auto& found) {
//     return RealFileSystem().IsFile(found);
//   });
//
// Looks in the workspace of a `bazel run` (or of tools/run), in the working directory and its
// parents, and in the program's runfiles, in this order. Thread-safe.
#ifndef DRAFTMARK_SRC_BASE_FIND_IN_CHECKOUT_H_
#define DRAFTMARK_SRC_BASE_FIND_IN_CHECKOUT_H_

#include <functional>
#include <optional>
#include <string>

namespace draftmark {

// The path of `relative` in the first checkout in which `accepts` takes that path.
std::optional<std::string> FindInCheckout(const std::string& relative,
                                          const std::function<bool(const std::string&)>& accepts);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_FIND_IN_CHECKOUT_H_
