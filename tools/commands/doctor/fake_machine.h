// FakeMachine: a machine of which a test decides everything. It starts as one that has all.
//
//   FakeMachine machine;
//   machine.programs.erase("bazel");
//   EXPECT_EQ(CheckBuildTools(machine)[0].state, FindingState::kMissing);
#ifndef DRAFTMARK_TOOLS_COMMANDS_DOCTOR_FAKE_MACHINE_H_
#define DRAFTMARK_TOOLS_COMMANDS_DOCTOR_FAKE_MACHINE_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/commands/doctor/checks.h"
#include "tools/commands/doctor/machine.h"

namespace draftmark {

struct FakeMachine : Machine {
  std::map<std::string, std::string> variables = {{"HOME", "/home/me"}};
  std::map<std::string, std::string> programs = {
      // name or path -> path
      {"bazel", "/usr/bin/bazel"},
      {"g++", "/usr/bin/g++"},
      {"ncu", "/usr/bin/ncu"},
      {"compute-sanitizer", "/usr/bin/compute-sanitizer"}};
  // By the program that runs; what is not here cannot be started.
  std::map<std::string, ChildResult> answers = {
      {"/usr/bin/bazel", {.output = "bazel no_version\n"}},
      {"/usr/bin/g++", {.output = "12.2.0\n"}},
      {"/repo/third_party/cuda/find_toolkit.sh",
       {.output = "/usr/local/cuda\n13000\n/usr/local/cuda/lib64\n"}},
      {"python3", {.output = "torch 2.11.0 CUDA True\n"}}};
  std::string bazel_package = "4.2.3+ds-11";
  std::set<std::string> packages;  // installed
  std::set<std::string> removed;   // only their config files are left
  std::map<std::string, std::string> files = {
      {"/repo/.venv/requirements.installed", "numpy==2.2.6\n"},
      {"/repo/third_party/python/requirements.txt", "numpy==2.2.6\n"},
      {"/repo/.sources/benchmark/VERSION", "1.7.1\n"},
      {"/proc/driver/nvidia/version",
       "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build\n"
       "GCC version:  gcc version 13.3.0\n"},
      {"/proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n"},
      {"/proc/meminfo", "MemTotal:  264000000 kB\nMemAvailable:  263000000 kB\n"}};
  std::map<std::string, std::vector<std::string>> globs = {{"/dev/nvidia[0-9]*", {"/dev/nvidia0"}},
                                                           {"/dev/nvidiactl", {"/dev/nvidiactl"}},
                                                           {"/dev/nvidia-uvm", {"/dev/nvidia-uvm"}},
                                                           {"/home/me", {"/home/me"}},
                                                           {"/", {"/"}}};
  std::set<std::string> locked;  // cannot be read and written
  bool root = false;
  StatusOr<std::uint64_t> free_disk = std::uint64_t{100} << 30;
  std::optional<std::string> checkout = "/repo";
  std::optional<std::string> catalogue = "/repo/golden/configs/drafter_configs.json";
  StatusOr<std::vector<DeviceInfo>> devices = std::vector<DeviceInfo>{
      {.name = "NVIDIA H200", .compute_major = 9, .compute_minor = 0, .sm_count = 132}};
  StatusOr<std::string> cublaslt = std::string("libcublasLt.so.13 (version 13.1.0)");
  StatusOr<std::string> nvml = std::string("libnvidia-ml.so.1");
  std::vector<std::string> archs = {"sm_80", "sm_90a"};

  FakeMachine() {
    for (const std::string& package : BuildPackages()) packages.insert(package);
    for (const std::string& package : ToolsOfChecks()) packages.insert(package);
    packages.insert("libjs-dygraphs");
  }

  std::optional<std::string> Variable(const std::string& name) override {
    return Find(variables, name);
  }
  std::optional<std::string> FindProgram(const std::string& name) override {
    return Find(programs, name);
  }
  StatusOr<ChildResult> Run(const std::vector<std::string>& arguments, double) override {
    if (arguments[0] == "dpkg-query") return Packages(arguments);
    if (const auto answer = Find(answers, arguments[0])) return *answer;
    return NotFoundError(arguments[0] + ": no such program");
  }
  StatusOr<std::string> Read(const std::string& path) override {
    if (const auto text = Find(files, path)) return *text;
    return NotFoundError(path + ": cannot be opened");
  }
  std::vector<std::string> Glob(const std::string& pattern) override {
    return Find(globs, pattern).value_or(std::vector<std::string>());
  }
  bool CanReadAndWrite(const std::string& path) override { return !locked.contains(path); }
  bool IsRoot() override { return root; }
  StatusOr<std::uint64_t> FreeDisk(const std::string&) override { return free_disk; }
  std::optional<std::string> Checkout() override { return checkout; }
  std::optional<std::string> Catalogue() override { return catalogue; }
  StatusOr<std::vector<DeviceInfo>> Devices() override { return devices; }
  StatusOr<std::string> CublasLt() override { return cublaslt; }
  StatusOr<std::string> Nvml() override { return nvml; }
  std::vector<std::string> BuildArchs() override { return archs; }

 private:
  template <typename T>
  static std::optional<T> Find(const std::map<std::string, T>& map, const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? std::nullopt : std::optional(found->second);
  }
  ChildResult Packages(const std::vector<std::string>& arguments) const {
    if (arguments.back() == "bazel-bootstrap") return {.output = bazel_package};
    ChildResult result;
    for (std::size_t i = 4; i < arguments.size(); ++i) {
      if (removed.contains(arguments[i])) {
        result.output += arguments[i] + " config-files\n";
      } else if (packages.contains(arguments[i])) {
        result.output += arguments[i] + " installed\n";
      } else {
        result.output += "dpkg-query: no packages found matching " + arguments[i] + "\n";
        result.exit_code = 1;
      }
    }
    return result;
  }
};

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_DOCTOR_FAKE_MACHINE_H_
