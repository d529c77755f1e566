#include "tools/commands/bench/commit.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include "src/base/child_process.h"
#include "src/base/file_system.h"
#include "src/base/find_in_checkout.h"

namespace draftmark {
namespace {

constexpr const char* kUnknown = "unknown";
constexpr const char* kScript = "tools/workspace_status";
constexpr double kScriptSeconds = 30;  // git on a slow disk

std::string FirstWord(std::string_view text) {
  return std::string(text.substr(0, text.find_first_of(" \n")));
}

// The program is bin/tools/draftmark of the bundle.
std::optional<std::string> CommitOfBundle() {
  std::error_code error;  // the overload that does not throw
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  for (std::filesystem::path folder = program.parent_path(); folder != folder.parent_path();
       folder = folder.parent_path()) {
    if (!RealFileSystem().IsFile((folder / "PROGRAMS").string())) continue;
    const StatusOr<std::string> text = ReadTextFile((folder / "COMMIT").string());
    if (text.ok()) return FirstWord(*text);
  }
  return std::nullopt;
}

}  // namespace

std::string CommitOfStatus(std::string_view status) {
  constexpr std::string_view kKey = "STABLE_GIT_COMMIT ";
  const std::size_t key = status.find(kKey);
  if (key == std::string_view::npos) return kUnknown;
  return FirstWord(status.substr(key + kKey.size()));
}

std::string FindCommit() {
  if (const std::optional<std::string> bundled = CommitOfBundle()) return *bundled;
  const std::optional<std::string> script = FindInCheckout(
      kScript, [](const std::string& path) { return RealFileSystem().IsFile(path); });
  if (!script) return kUnknown;
  const std::string root = script->substr(0, script->size() - std::string_view(kScript).size());
  const StatusOr<ChildResult> child =
      RunChild({"sh", kScript}, {.seconds = kScriptSeconds, .directory = root});
  return child.ok() && child->exit_code == 0 ? CommitOfStatus(child->output) : kUnknown;
}

}  // namespace draftmark
