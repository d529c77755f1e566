#include "tools/commands/verify/golden_directory.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "src/base/file_system.h"

namespace draftmark {
namespace {

bool IsGolden(const std::string& path) {
  return RealFileSystem().IsDirectory(JoinPath(path, "drafter"));
}

}  // namespace

StatusOr<std::string> FindGoldenDirectory() {
  // Whoever names a workspace means its data, wherever he stands.
  if (const char* const workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY")) {
    const std::string candidate = JoinPath(workspace, "golden");
    if (IsGolden(candidate)) return candidate;
  }
  std::error_code error;  // the overloads that do not throw
  // Relative paths upwards, so that reproduction lines stay short.
  std::string up;
  const std::filesystem::path here = std::filesystem::current_path(error);
  for (std::filesystem::path folder = here; !error && !folder.empty();
       folder = folder.parent_path()) {
    const std::string candidate = up + "golden";
    if (IsGolden(candidate)) return candidate;
    if (folder == folder.parent_path()) break;
    up += "../";
  }
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    const std::string candidate = program.string() + ".runfiles/draftmark/golden";
    if (IsGolden(candidate)) return candidate;
  }
  return NotFoundError(
      "no golden data found: run inside a checkout, or name a case folder or --golden DIR");
}

}  // namespace draftmark
