#include "tools/commands/verify/checkout.h"

#include "src/base/file_system.h"
#include "src/base/find_in_checkout.h"

namespace draftmark {

StatusOr<std::string> FindGoldenDirectory() {
  const std::optional<std::string> found = FindInCheckout("golden", [](const std::string& path) {
    return RealFileSystem().IsDirectory(JoinPath(path, "drafter"));
  });
  if (found) return *found;
  return NotFoundError(
      "no golden data found: run inside a checkout, or name a case folder or --golden DIR");
}

std::optional<std::string> FindExpectationsFile(const std::string& arch) {
  return FindInCheckout("conformance/expectations/" + arch + ".toml",
                        [](const std::string& path) { return RealFileSystem().IsFile(path); });
}

}  // namespace draftmark
