// What `draftmark doctor` looks at. Each function gives its findings in the order in which they are
// printed; none fails.
#ifndef DRAFTMARK_TOOLS_COMMANDS_DOCTOR_CHECKS_H_
#define DRAFTMARK_TOOLS_COMMANDS_DOCTOR_CHECKS_H_

#include <string>
#include <string_view>
#include <vector>

#include "tools/commands/doctor/finding.h"
#include "tools/commands/doctor/machine.h"

namespace draftmark {

// Debian packages of the build without Bazel and the compiler, which have lines of their own: those
// of tools/setup, which a test compares.
std::vector<std::string> BuildPackages();
// Those of tools/setup --checks.
std::vector<std::string> ToolsOfChecks();

// Bazel, compiler, packages, Python environment, benchmark sources, CUDA toolkit, and what charts
// and checks need. Where there is no checkout to build only the first three are looked at, as
// extras: a bundle's programs need none of them.
std::vector<Finding> CheckBuildTools(Machine& machine);

// Golden data, folder of Bazel's output, disk, memory for drafts of full size.
std::vector<Finding> CheckResources(Machine& machine);

// Driver, device files, devices, cuBLASLt, NVML, compute-sanitizer, ncu, permission to profile,
// PyTorch.
std::vector<Finding> CheckGpu(Machine& machine);

// Whether code for `arch` (sm_90a, compute_80) runs on a GPU of this compute capability: "a" code
// on that one alone, other machine code within its major version, PTX on everything newer. The
// bundle's `run` has the same rule.
bool ArchRunsOn(std::string_view arch, int major, int minor);

// True if `version` ("12.2.0", "580.82.07") is at least `oldest` ("12"), number by number; false if
// it has no number.
bool IsAtLeast(std::string_view version, std::string_view oldest);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_DOCTOR_CHECKS_H_
