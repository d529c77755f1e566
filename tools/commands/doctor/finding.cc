#include "tools/commands/doctor/finding.h"

#include <fmt/format.h>

#include <algorithm>

namespace draftmark {
namespace {

std::string OneField(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::replace(text.begin(), text.end(), ';', ',');
  return text;
}

}  // namespace

std::string_view FindingStateName(FindingState state) {
  switch (state) {
    case FindingState::kOk:
      return "OK";
    case FindingState::kMissing:
      return "MISSING";
    case FindingState::kOld:
      return "OLD";
  }
  return "";
}

std::string_view MachinePartName(MachinePart part) {
  switch (part) {
    case MachinePart::kCpu:
      return "cpu";
    case MachinePart::kGpu:
      return "gpu";
    case MachinePart::kExtra:
      return "extra";
  }
  return "";
}

std::string Finding::ToText() const {
  return fmt::format("{} {}: {}; {}; {}", FindingStateName(state), name, OneField(found),
                     OneField(needed_for), OneField(how_to_get));
}

OrderedJson Finding::ToJson() const {
  OrderedJson json;
  json["state"] = FindingStateName(state);
  json["name"] = name;
  json["part"] = MachinePartName(part);
  json["found"] = found;
  json["needed_for"] = needed_for;
  json["how_to_get"] = how_to_get;
  return json;
}

std::vector<std::string> LackingOf(std::span<const Finding> findings, MachinePart part) {
  std::vector<std::string> names;
  for (const Finding& finding : findings) {
    if (finding.part == part && !finding.ok()) names.push_back(finding.name);
  }
  return names;
}

}  // namespace draftmark
