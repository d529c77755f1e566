#include "tools/commands/verify/checkout.h"

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <system_error>

#include "src/base/file_system.h"

namespace draftmark {
namespace {

// The first checkout in which `accepts` takes the path of `relative`, and that path.
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
    const std::string candidate = program.string() + ".runfiles/draftmark/" + relative;
    if (accepts(candidate)) return candidate;
  }
  return std::nullopt;
}

}  // namespace

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
