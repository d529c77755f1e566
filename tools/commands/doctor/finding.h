// One line of `draftmark doctor`: what was looked for, what was found, why, and where to get it.
#ifndef DRAFTMARK_TOOLS_COMMANDS_DOCTOR_FINDING_H_
#define DRAFTMARK_TOOLS_COMMANDS_DOCTOR_FINDING_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/json.h"

namespace draftmark {

enum class FindingState { kOk, kMissing, kOld };
std::string_view FindingStateName(FindingState state);  // "OK", "MISSING", "OLD"

// What cannot be done without it.
enum class MachinePart {
  kCpu,    // building, testing and verifying on the CPU
  kGpu,    // running the CUDA backend
  kExtra,  // one command or some tests alone
};
std::string_view MachinePartName(MachinePart part);  // "cpu", "gpu", "extra"

struct Finding {
  FindingState state = FindingState::kOk;
  std::string name;
  MachinePart part = MachinePart::kExtra;
  std::string found;
  std::string needed_for;
  std::string how_to_get;

  bool ok() const { return state == FindingState::kOk; }
  // "MISSING bazel: not in PATH; builds and tests; apt-get install -y bazel-bootstrap". The fields
  // are one line each and hold no semicolon here, so that a program can split the line.
  std::string ToText() const;
  OrderedJson ToJson() const;
};

// Names of the findings of a part that are not OK.
std::vector<std::string> LackingOf(std::span<const Finding> findings, MachinePart part);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_DOCTOR_FINDING_H_
