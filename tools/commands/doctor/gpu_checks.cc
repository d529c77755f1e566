#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "tools/commands/doctor/checks.h"

namespace draftmark {
namespace {

// The first branch that runs CUDA 13 (tools/bundle/environment.sh).
constexpr char kOldestDriver[] = "580";
constexpr double kTorchSeconds = 120;  // importing it from a cold disk takes half a minute

// The version in "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release".
std::string DriverVersion(const std::string& text) {
  for (std::size_t at = 0; at < text.size() && text[at] != '\n';) {
    const std::size_t end = std::min(text.find_first_of(" \t\n", at), text.size());
    std::string word = text.substr(at, end - at);
    if (word.size() > 3 && word.find('.') != std::string::npos &&
        word.find_first_not_of("0123456789.") == std::string::npos) {
      return word;
    }
    at = end + (end < text.size() && text[end] != '\n' ? 1 : 0);
  }
  return "";
}

Finding CheckDriver(Machine& machine) {
  Finding finding{.name = "driver",
                  .part = MachinePart::kGpu,
                  .found = "no NVIDIA driver: /proc/driver/nvidia/version is not there",
                  .needed_for = "running on a GPU",
                  .how_to_get = fmt::format("NVIDIA's driver {} or newer", kOldestDriver)};
  std::string version = DriverVersion(machine.Read("/proc/driver/nvidia/version").ok()
                                          ? *machine.Read("/proc/driver/nvidia/version")
                                          : "");
  if (version.empty()) {  // WSL has no such file
    const StatusOr<ChildResult> answer =
        machine.Run({"nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"}, 30);
    if (answer.ok() && answer->exit_code == 0) version = DriverVersion(answer->output);
  }
  if (version.empty()) {
    finding.state = FindingState::kMissing;
    return finding;
  }
  finding.found = "version " + version;
  if (!IsAtLeast(version, kOldestDriver)) {
    finding.state = FindingState::kOld;
    finding.found += fmt::format(", CUDA 13 needs {} or newer", kOldestDriver);
  }
  return finding;
}

Finding CheckDeviceFiles(Machine& machine) {
  Finding finding{.name = "device-files",
                  .part = MachinePart::kGpu,
                  .found = {},
                  .needed_for = "running on a GPU",
                  .how_to_get =
                      "load the kernel module, or give this user (in a container: the "
                      "container) the right to read and write them"};
  std::vector<std::string> files = machine.Glob("/dev/nvidia[0-9]*");
  for (const char* const control : {"/dev/nvidiactl", "/dev/nvidia-uvm"}) {
    for (std::string& file : machine.Glob(control)) files.push_back(std::move(file));
  }
  if (files.empty()) files = machine.Glob("/dev/dxg");  // WSL
  std::vector<std::string> refused;
  for (const std::string& file : files) {
    if (!machine.CanReadAndWrite(file)) refused.push_back(file);
  }
  if (files.empty()) {
    finding.found = "no /dev/nvidia*";
  } else if (!refused.empty()) {
    finding.found = fmt::format("{} cannot be read and written", fmt::join(refused, ", "));
  } else {
    finding.found = fmt::format("{}", fmt::join(files, ", "));
    return finding;
  }
  finding.state = FindingState::kMissing;
  return finding;
}

Finding CheckDevice(const DeviceInfo& device, const std::vector<std::string>& archs) {
  Finding finding{.name = fmt::format("device-{}", device.ordinal),
                  .part = MachinePart::kGpu,
                  .found = device.Describe(),
                  .needed_for = "draftmark verify --backend cuda, and every benchmark on a GPU",
                  .how_to_get = {}};
  const auto runs = std::find_if(archs.begin(), archs.end(), [&](const std::string& arch) {
    return ArchRunsOn(arch, device.compute_major, device.compute_minor);
  });
  if (runs != archs.end()) {
    finding.found += fmt::format(", runs this build's {} code", *runs);
    finding.how_to_get = "nothing to do";
    return finding;
  }
  finding.state = FindingState::kMissing;
  finding.found += fmt::format(", this build has code for {} only", fmt::join(archs, ", "));
  finding.how_to_get = fmt::format("build with --//tools/cuda:archs=sm_{}{}", device.compute_major,
                                   device.compute_minor);
  return finding;
}

std::vector<Finding> CheckDevices(Machine& machine) {
  const StatusOr<std::vector<DeviceInfo>> devices = machine.Devices();
  std::vector<Finding> findings;
  if (devices.ok()) {
    for (const DeviceInfo& device : *devices) {
      findings.push_back(CheckDevice(device, machine.BuildArchs()));
    }
    return findings;
  }
  findings.push_back({.state = FindingState::kMissing,
                      .name = "devices",
                      .part = MachinePart::kGpu,
                      .found = devices.status().message(),
                      .needed_for = "draftmark verify --backend cuda, and every benchmark on a GPU",
                      .how_to_get = machine.BuildArchs().empty()
                                        ? "tools/setup, then build without --config=nocuda"
                                        : "a machine with an NVIDIA GPU, visible in "
                                          "CUDA_VISIBLE_DEVICES"});
  return findings;
}

Finding CheckLibrary(const char* name, const StatusOr<std::string>& library, MachinePart part,
                     const char* needed_for, const char* how_to_get) {
  Finding finding{.name = name,
                  .part = part,
                  .found = library.ok() ? *library : library.status().message(),
                  .needed_for = needed_for,
                  .how_to_get = how_to_get};
  if (library.ok()) return finding;
  // How the loader says that a library is there, but of another version.
  const bool other_version = finding.found.find(" is version ") != std::string::npos;
  finding.state = other_version ? FindingState::kOld : FindingState::kMissing;
  return finding;
}

Finding CheckTool(Machine& machine, const std::string& name, const std::vector<std::string>& more,
                  const char* needed_for, const char* how_to_get) {
  Finding finding{.name = name, .found = {}, .needed_for = needed_for, .how_to_get = how_to_get};
  std::vector<std::string> candidates = {name};
  for (const std::string& pattern : more) {
    for (std::string& path : machine.Glob(pattern)) candidates.push_back(std::move(path));
  }
  for (const std::string& candidate : candidates) {
    const std::optional<std::string> path = machine.FindProgram(candidate);
    if (!path) continue;
    finding.found = *path;
    return finding;
  }
  finding.state = FindingState::kMissing;
  finding.found = fmt::format("neither in PATH nor as {}", fmt::join(more, ", "));
  return finding;
}

Finding CheckProfiling(Machine& machine) {
  Finding finding{.name = "profiling",
                  .found = {},
                  .needed_for = "performance counters in ncu",
                  .how_to_get = "root, or the module option NVreg_RestrictProfilingToAdminUsers=0"};
  const StatusOr<std::string> params = machine.Read("/proc/driver/nvidia/params");
  if (!params.ok()) {
    finding.state = FindingState::kMissing;
    finding.found = "/proc/driver/nvidia/params is not there";
  } else if (params->find("RmProfilingAdminOnly: 0") != std::string::npos) {
    finding.found = "open to every user";
  } else if (machine.IsRoot()) {
    finding.found = "for root alone, and this is root (a container also needs CAP_SYS_ADMIN)";
  } else {
    finding.state = FindingState::kMissing;
    finding.found = "for root alone, and this user is not root";
  }
  return finding;
}

Finding CheckTorch(Machine& machine) {
  Finding finding{.name = "pytorch",
                  .found = {},
                  .needed_for = "the baseline of draftmark bench roofline",
                  .how_to_get =
                      "python3 -m pip install torch in the environment of the python3 "
                      "in PATH"};
  const StatusOr<ChildResult> answer = machine.Run(
      {"python3", "-c",
       "import torch; print('torch', torch.__version__, 'CUDA', torch.cuda.is_available())"},
      kTorchSeconds);
  if (answer.ok() && answer->exit_code == 0) {
    finding.found = LastLine(answer->output);
    if (finding.found.ends_with("CUDA True")) return finding;
    finding.found += ", it sees no GPU";
  } else if (answer.ok()) {
    finding.found = answer->timed_out ? "python3 needs too long to import torch"
                                      : "python3 cannot: " + LastLine(answer->output);
  } else {
    finding.found = answer.status().message();
  }
  finding.state = FindingState::kMissing;
  return finding;
}

}  // namespace

std::vector<Finding> CheckGpu(Machine& machine) {
  std::vector<Finding> findings = {CheckDriver(machine), CheckDeviceFiles(machine)};
  for (Finding& device : CheckDevices(machine)) findings.push_back(std::move(device));
  findings.push_back(CheckLibrary(
      "cublaslt", machine.CublasLt(), MachinePart::kGpu, "linear layers of the CUDA backend",
      "CUDA 13's cuBLASLt: NVIDIA's toolkit, or CUDA_HOME=.cuda/nvidia/cu13 after tools/setup"));
  findings.push_back(CheckLibrary("nvml", machine.Nvml(), MachinePart::kExtra,
                                  "clocks, throttle reasons and processes around benchmarks",
                                  "comes with NVIDIA's driver"));
  findings.push_back(CheckTool(machine, "compute-sanitizer",
                               {"/usr/local/cuda*/bin/compute-sanitizer"},
                               "run sanitize of the bundle", "comes with NVIDIA's CUDA toolkit"));
  findings.push_back(
      CheckTool(machine, "ncu", {"/usr/local/cuda*/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu"},
                "profiles of kernels", "Nsight Compute, which comes with NVIDIA's CUDA toolkit"));
  findings.push_back(CheckProfiling(machine));
  findings.push_back(CheckTorch(machine));
  return findings;
}

bool ArchRunsOn(std::string_view arch, int major, int minor) {
  const bool ptx = arch.starts_with("compute_");
  const std::size_t underscore = arch.find('_');
  if (underscore == std::string_view::npos) return false;
  std::string_view digits = arch.substr(underscore + 1);
  const bool exact = digits.ends_with('a');
  if (exact || digits.ends_with('f')) digits.remove_suffix(1);
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return false;
  const int device = 10 * major + minor;
  if (exact) return number == device;
  return number <= device && (ptx || number / 10 == major);
}

}  // namespace draftmark
