#include "src/config/drafter_entry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "src/base/printable.h"
#include "src/config/drafter_layout.h"

namespace draftmark {
namespace {

std::string EntryName(const Json& entry) {
  if (!entry.is_object()) return "";
  const auto name = entry.find("name");
  return name != entry.end() && name->is_string() ? JsonText(*name) : "";
}

// The name under which errors of an entry appear. That its sources were not sure explains its gaps.
std::string EntrySource(const Json& entry, const std::string& source) {
  const std::string name = EntryName(entry);
  if (name.empty()) return source;
  const bool unverified = entry.contains("verified") && entry["verified"] == false;
  return fmt::format("{}: entry {}{}", source, Printable(name), unverified ? " (unverified)" : "");
}

// Why an entry that is not verified is not to be run.
std::string ReasonOf(const Json& entry) {
  std::string reason = "its sources confirm too little of it";
  if (entry.contains("kind") && entry["kind"] == "checkpoint_other_arch") {
    reason = "its layers are of another architecture";
  }
  if (const auto fields = entry.find("unverified_fields"); fields != entry.end()) {
    std::vector<std::string> names;
    for (const Json& field : *fields) {
      if (field.is_string()) names.push_back(Printable(JsonText(field)));
    }
    if (!names.empty()) reason += fmt::format("; not known: {}", fmt::join(names, ", "));
  }
  if (const auto note = entry.find("note"); note != entry.end() && note->is_string()) {
    reason += fmt::format(" ({})", OneLine(JsonText(*note)));
  }
  return reason;
}

}  // namespace

namespace internal {

bool IsCollection(const Json& json) {
  if (!json.is_object()) return false;
  const auto configs = json.find("configs");
  return configs != json.end() && configs->is_array();
}

StatusOr<SelectedEntry> SelectEntry(const Json& json, const std::string& source,
                                    const std::string& entry) {
  if (!IsCollection(json)) {
    if (!entry.empty() && EntryName(json) != entry) {
      return NotFoundError(fmt::format("{}: no entry \"{}\": the file is no collection of configs",
                                       source, Printable(entry)));
    }
    return SelectedEntry{&json, EntrySource(json, source)};
  }
  const Json& configs = json["configs"];
  const Json* found = nullptr;
  for (const Json& candidate : configs) {
    if (entry.empty() ? configs.size() != 1 : EntryName(candidate) != entry) continue;
    if (found != nullptr) {
      return InvalidArgumentError(
          fmt::format("{}: entry {} is there twice", source, Printable(entry)));
    }
    found = &candidate;
  }
  if (found == nullptr) {
    std::vector<std::string> names;
    for (const std::string& name : DrafterEntryNames(json)) names.push_back(Printable(name));
    return NotFoundError(
        fmt::format("{}: {}; the file has: {}", source,
                    entry.empty() ? std::string("a collection of configs, of which one entry must "
                                                "be named")
                                  : fmt::format("no entry \"{}\"", Printable(entry)),
                    fmt::join(names, ", ")));
  }
  return SelectedEntry{found, EntrySource(*found, source)};
}

}  // namespace internal

std::vector<std::string> DrafterEntryNames(const Json& json) {
  std::vector<std::string> names;
  if (!internal::IsCollection(json)) return names;
  for (const Json& entry : json["configs"]) {
    if (std::string name = EntryName(entry); !name.empty()) names.push_back(std::move(name));
  }
  return names;
}

StatusOr<DrafterEntry> FindRunnableEntry(const Json& json, const std::string& source,
                                         const std::string& entry) {
  DM_ASSIGN_OR_RETURN(const internal::SelectedEntry selected,
                      internal::SelectEntry(json, source, entry));
  const Json& found = *selected.json;
  if (found.is_object() && found.contains("verified") && found["verified"] == false) {
    return FailedPreconditionError(
        fmt::format("{}: is not run: {}", selected.source, ReasonOf(found)));
  }
  DM_ASSIGN_OR_RETURN(DrafterConfig config, ParseDrafterConfig(json, source, entry));
  return DrafterEntry{selected.json, std::move(config)};
}

}  // namespace draftmark
