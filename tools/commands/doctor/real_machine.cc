#include <glob.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "src/base/file_system.h"
#include "src/base/find_in_checkout.h"
#include "src/cuda/nvml_library.h"
#include "tools/commands/doctor/build_archs.h"
#include "tools/commands/doctor/find_cublaslt.h"
#include "tools/commands/doctor/machine.h"

namespace draftmark {
namespace {

bool IsProgram(const std::string& path) {
  return RealFileSystem().IsFile(path) && ::access(path.c_str(), X_OK) == 0;
}

class RealMachine : public Machine {
 public:
  std::optional<std::string> Variable(const std::string& name) override {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  }
  std::optional<std::string> FindProgram(const std::string& name) override {
    if (name.find('/') != std::string::npos) {
      return IsProgram(name) ? std::optional(name) : std::nullopt;
    }
    std::istringstream folders(Variable("PATH").value_or(""));
    for (std::string folder; std::getline(folders, folder, ':');) {
      const std::string path = JoinPath(folder.empty() ? "." : folder, name);
      if (IsProgram(path)) return path;
    }
    return std::nullopt;
  }
  StatusOr<ChildResult> Run(const std::vector<std::string>& arguments, double seconds) override {
    return RunChild(arguments, {.seconds = seconds});
  }
  StatusOr<std::string> Read(const std::string& path) override {
    // Not mapped: files of /proc have no size.
    std::ifstream file(path, std::ios::binary);
    if (!file) return NotFoundError(path + ": cannot be opened");
    std::ostringstream text;
    text << file.rdbuf();
    if (file.bad()) return UnavailableError(path + ": cannot be read");
    return text.str();
  }
  std::vector<std::string> Glob(const std::string& pattern) override {
    std::vector<std::string> paths;
    glob_t found{};
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
      paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    }
    ::globfree(&found);
    return paths;
  }
  bool CanReadAndWrite(const std::string& path) override {
    // Not stat's mode: a device may be refused by the container's rules, a folder by its mount.
    return ::access(path.c_str(), R_OK | W_OK) == 0;
  }
  bool IsRoot() override { return ::geteuid() == 0; }
  StatusOr<std::uint64_t> FreeDisk(const std::string& path) override {
    struct statvfs answer {};
    if (::statvfs(path.c_str(), &answer) != 0) {
      return UnavailableError(path + ": the system does not say how much of its disk is free");
    }
    return std::uint64_t{answer.f_bavail} * answer.f_frsize;
  }
  std::optional<std::string> Checkout() override {
    constexpr char kMark[] = "WORKSPACE";
    const std::optional<std::string> mark = FindInCheckout(
        kMark, [](const std::string& path) { return RealFileSystem().IsFile(path); });
    if (!mark) return std::nullopt;
    const std::string root = mark->substr(0, mark->size() - sizeof(kMark) + 1);
    // Another project may lie around the working directory.
    if (!RealFileSystem().IsFile(JoinPath(root, "third_party/cuda/find_toolkit.sh"))) {
      return std::nullopt;
    }
    return root.empty() ? "." : root.substr(0, root.size() - 1);
  }
  std::optional<std::string> Catalogue() override {
    return FindInCheckout("golden/configs/drafter_configs.json",
                          [](const std::string& path) { return RealFileSystem().IsFile(path); });
  }
  StatusOr<std::vector<DeviceInfo>> Devices() override { return ListDevices(); }
  StatusOr<std::string> CublasLt() override { return FindCublasLt(); }
  StatusOr<std::string> Nvml() override {
    DM_ASSIGN_OR_RETURN(const NvmlFunctions nvml, LoadNvml());
    return nvml.path;
  }
  std::vector<std::string> BuildArchs() override { return ListBuildArchs(); }
};

}  // namespace

std::unique_ptr<Machine> MakeRealMachine() { return std::make_unique<RealMachine>(); }

}  // namespace draftmark
