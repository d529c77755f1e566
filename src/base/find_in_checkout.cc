#include "src/base/find_in_checkout.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "src/base/file_system.h"

namespace draftmark {

std::optional<std::string> FindInCheckout(const std::string& relative,
                                          const std::function<bool(const std::string&)>& accepts) {
  // Whoever names a workspace means its data, wherever he stands.
  if (const char* const workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY")) {
    const std::string candidate = JoinPath(workspace, relative);
    if (accepts(candidate)) return candidate;
  }
  std::error_code error;  // the overloads that do not throw
  // Relative paths upwards, so that reproduction lines stay short.
  std::string up;
  const std::filesystem::path here = std::filesystem::current_path(error);
  for (std::filesystem::path folder = here; !error && !folder.empty();
       folder = folder.parent_path()) {
    const std::string candidate = up + relative;
    if (accepts(candidate)) return candidate;
    if (folder == folder.parent_path()) break;
    up += "../";
  }
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    for (const char* const workspace : {"draftmark", "_main"}) {  // as Bazel 4 and 7 call it
      const std::string candidate =
          fmt::format("{}.runfiles/{}/{}", program.string(), workspace, relative);
      if (accepts(candidate)) return candidate;
    }
    // bin/tools/draftmark of a bundle, and the same program among its data.
    for (std::filesystem::path folder = program.parent_path(); folder != folder.parent_path();
         folder = folder.parent_path()) {
      const std::string bundled = JoinPath((folder / "data/draftmark").string(), relative);
      if (accepts(bundled)) return bundled;
    }
  }
  return std::nullopt;
}

}  // namespace draftmark
