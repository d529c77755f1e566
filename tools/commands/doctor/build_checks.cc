#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <sstream>

#include "tools/commands/doctor/checks.h"

namespace draftmark {
namespace {

constexpr double kQuerySeconds = 30;  // of a program that answers at once on an idle machine

// Debian 12's: older ones were never tried, and Bazel before 4 reads another .bazelrc.
constexpr char kOldestBazel[] = "4.2.3";
constexpr char kOldestCompiler[] = "12";  // g++ 11 lacks parts of C++20 that are used

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// Standard output of a program that ends well; else nothing.
std::optional<std::string> Ask(Machine& machine, const std::vector<std::string>& arguments) {
  const StatusOr<ChildResult> child = machine.Run(arguments, kQuerySeconds);
  if (!child.ok() || child->exit_code != 0 || child->timed_out) return std::nullopt;
  return child->output;
}

Finding CheckBazel(Machine& machine) {
  Finding finding{.name = "bazel",
                  .part = MachinePart::kCpu,
                  .found = "not in PATH",
                  .needed_for = "building and testing from sources",
                  .how_to_get = "tools/setup, or apt-get install -y bazel-bootstrap"};
  const std::optional<std::string> path = machine.FindProgram("bazel");
  if (!path) {
    finding.state = FindingState::kMissing;
    return finding;
  }
  std::string version = FirstLine(Ask(machine, {*path, "--version"}).value_or(""));
  // "bazel 7.7.1"; Debian's says "bazel no_version", and its package knows.
  version = version.substr(version.find(' ') + 1);
  if (version.find_first_of("0123456789") == std::string::npos) {
    version =
        Ask(machine, {"dpkg-query", "-W", "-f", "${Version}", "bazel-bootstrap"}).value_or("");
  }
  if (version.empty()) version = "unknown";
  finding.found = fmt::format("{} (version {})", *path, version);
  if (version != "unknown" && !IsAtLeast(version, kOldestBazel)) {
    finding.state = FindingState::kOld;
    finding.found += fmt::format(", {} or newer is needed", kOldestBazel);
  }
  return finding;
}

Finding CheckCompiler(Machine& machine) {
  Finding finding{.name = "compiler",
                  .part = MachinePart::kCpu,
                  .found = "no g++ in PATH",
                  .needed_for = "C++20",
                  .how_to_get = "tools/setup, or apt-get install -y g++"};
  const std::optional<std::string> path = machine.FindProgram("g++");
  if (!path) {
    finding.state = FindingState::kMissing;
    return finding;
  }
  const std::string version =
      FirstLine(Ask(machine, {*path, "-dumpfullversion"}).value_or("unknown"));
  finding.found = fmt::format("{} (version {})", *path, version);
  if (!IsAtLeast(version, kOldestCompiler)) {
    finding.state = FindingState::kOld;
    finding.found += fmt::format(", {} or newer is needed", kOldestCompiler);
  }
  return finding;
}

// `finding` says what for, and how to get them all.
Finding CheckPackages(Machine& machine, const std::vector<std::string>& wanted, Finding finding) {
  std::vector<std::string> query = {"dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n"};
  query.insert(query.end(), wanted.begin(), wanted.end());
  // Its exit code is 1 where one is unknown; what it prints of the others counts.
  const StatusOr<ChildResult> answer = machine.Run(query, kQuerySeconds);
  if (!answer.ok()) {
    finding.state = FindingState::kMissing;
    finding.found = "no dpkg-query: this is no Debian machine";
    finding.how_to_get = fmt::format("what Debian 12 has in {}", fmt::join(wanted, " "));
    return finding;
  }
  std::vector<std::string> missing;
  for (const std::string& package : wanted) {
    if (("\n" + answer->output).find("\n" + package + " installed\n") == std::string::npos) {
      missing.push_back(package);
    }
  }
  finding.found = fmt::format("{} of {}", wanted.size() - missing.size(), wanted.size());
  if (!missing.empty()) {
    finding.state = FindingState::kMissing;
    finding.found += fmt::format(", not {}", fmt::join(missing, " "));
    finding.how_to_get =
        fmt::format("{}, or apt-get install -y {}", finding.how_to_get, fmt::join(missing, " "));
  }
  return finding;
}

Finding CheckPython(Machine& machine, const std::string& root) {
  Finding finding{.name = "python-packages",
                  .found = root + "/.venv",
                  .needed_for = "tests against numpy and safetensors, which are skipped without",
                  .how_to_get = "tools/setup"};
  const StatusOr<std::string> installed = machine.Read(root + "/.venv/requirements.installed");
  const StatusOr<std::string> wanted = machine.Read(root + "/third_party/python/requirements.txt");
  if (!installed.ok()) {
    finding.state = FindingState::kMissing;
    finding.found = "no complete " + root + "/.venv";
  } else if (!wanted.ok() || *installed != *wanted) {
    finding.state = FindingState::kOld;
    finding.found += ", made from another third_party/python/requirements.txt";
  }
  return finding;
}

Finding CheckBenchmarkSources(Machine& machine, const std::string& root) {
  Finding finding{.name = "benchmark-sources",
                  .found = root + "/.sources/benchmark",
                  .needed_for = "benchmark programs, which are skipped without",
                  .how_to_get = "tools/setup"};
  const StatusOr<std::string> version = machine.Read(root + "/.sources/benchmark/VERSION");
  if (version.ok()) {
    finding.found += fmt::format(" (version {})", FirstLine(*version));
  } else {
    finding.state = FindingState::kMissing;
    finding.found = "no complete " + root + "/.sources/benchmark";
  }
  return finding;
}

// find_toolkit.sh decides, as it does for the build.
Finding CheckToolkit(Machine& machine, const std::string& root) {
  Finding finding{.name = "cuda-toolkit",
                  .part = MachinePart::kGpu,
                  .found = {},
                  .needed_for = "compiling kernels",
                  .how_to_get =
                      "tools/setup (wheels into .cuda/), or CUDA 12.8 or newer from "
                      "NVIDIA with CUDA_HOME set to it"};
  std::vector<std::string> roots;
  for (const char* const variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto value = machine.Variable(variable)) roots.push_back(*value);
  }
  roots.push_back("/usr/local/cuda");
  roots.push_back(root + "/.cuda/nvidia/cu13");
  std::vector<std::string> command = {root + "/third_party/cuda/find_toolkit.sh"};
  command.insert(command.end(), roots.begin(), roots.end());
  if (const auto answer = Ask(machine, command)) {
    std::istringstream lines(*answer);
    std::string folder;
    int version = 0;
    lines >> folder >> version;
    finding.found = fmt::format("{} (CUDA {}.{})", folder, version / 1000, version % 1000 / 10);
    return finding;
  }
  finding.state = FindingState::kMissing;
  finding.found = fmt::format("none in {}", fmt::join(roots, ", "));
  for (const std::string& candidate : roots) {
    if (!machine.FindProgram(candidate + "/bin/nvcc")) continue;
    finding.state = FindingState::kOld;
    finding.found = fmt::format("{} is older than CUDA 12.8 or incomplete", candidate);
    break;
  }
  return finding;
}

}  // namespace

std::vector<std::string> BuildPackages() {
  return {"clang-format-14",    "git",
          "libcli11-dev",       "libexpat1-dev",
          "libfmt-dev",         "libgmock-dev",
          "libgtest-dev",       "libsqlite3-dev",
          "libssl-dev",         "libtomlplusplus-dev",
          "nlohmann-json3-dev", "python3",
          "python3-venv"};
}

std::vector<std::string> ToolsOfChecks() {
  return {"clang", "clang-tidy-14", "lcov", "libclang-rt-14-dev", "mmdebstrap"};
}

std::vector<Finding> CheckBuildTools(Machine& machine) {
  std::vector<Finding> findings = {
      CheckBazel(machine), CheckCompiler(machine),
      CheckPackages(machine, BuildPackages(),
                    {.name = "packages",
                     .part = MachinePart::kCpu,
                     .found = {},
                     .needed_for = "headers and archives that the build links, and its scripts",
                     .how_to_get = "tools/setup"})};
  if (const std::optional<std::string> root = machine.Checkout()) {
    findings.push_back(CheckPython(machine, *root));
    findings.push_back(CheckBenchmarkSources(machine, *root));
    findings.push_back(CheckToolkit(machine, *root));
    findings.push_back(CheckPackages(machine, {"libjs-dygraphs"},
                                     {.name = "chart-library",
                                      .found = {},
                                      .needed_for = "charts of the dashboard beside sparklines",
                                      .how_to_get = "tools/setup"}));
    findings.push_back(CheckPackages(machine, ToolsOfChecks(),
                                     {.name = "check-tools",
                                      .found = {},
                                      .needed_for = "tools/check, tools/fuzz and tools/bazel7",
                                      .how_to_get = "tools/setup --checks"}));
    return findings;
  }
  for (Finding& finding : findings) finding.part = MachinePart::kExtra;
  return findings;
}

bool IsAtLeast(std::string_view version, std::string_view oldest) {
  const auto next = [](std::string_view& text) -> std::optional<int> {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with('.')) text.remove_prefix(1);
    return number;
  };
  for (bool first = true;; first = false) {
    const std::optional<int> have = next(version);
    const std::optional<int> want = next(oldest);
    if (first && !have) return false;
    if (!want || have.value_or(0) != *want) return have.value_or(0) >= want.value_or(0);
  }
}

}  // namespace draftmark
