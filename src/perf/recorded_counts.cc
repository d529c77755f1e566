#include "src/perf/recorded_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>

#include "src/base/json.h"
#include "src/base/wildcard.h"
#include "src/perf/benchmark_counters.h"
#include "src/perf/google_benchmark.h"

namespace draftmark {
namespace {

constexpr std::uint64_t kSchemaVersion = 1;

StatusOr<CountedCase> ReadCase(const JsonObject& entry) {
  DM_ASSIGN_OR_RETURN(const std::string architecture, entry.StringOr("architecture", ""));
  DM_ASSIGN_OR_RETURN(const std::string case_id, entry.String("case"));
  if (case_id.empty()) return entry.TypeError("case", "a case id");
  return CountedCase(architecture, case_id);
}

StatusOr<Counts> ReadCounts(const JsonObject& entry) {
  DM_ASSIGN_OR_RETURN(const JsonObject values, entry.Object("counts"));
  Counts counts;
  for (const auto& item : values.json().items()) {
    DM_ASSIGN_OR_RETURN(counts[item.key()], values.U64(item.key()));
  }
  return counts;
}

StatusOr<AcceptedCount> ReadAccepted(const JsonObject& entry) {
  AcceptedCount accepted;
  DM_ASSIGN_OR_RETURN(const CountedCase counted, ReadCase(entry));
  accepted.architecture = counted.first;
  accepted.case_id = counted.second;
  DM_ASSIGN_OR_RETURN(accepted.date, entry.String("date"));
  DM_ASSIGN_OR_RETURN(accepted.field, entry.String("field"));
  DM_ASSIGN_OR_RETURN(accepted.old_value, entry.U64("old"));
  DM_ASSIGN_OR_RETURN(accepted.new_value, entry.U64("new"));
  DM_ASSIGN_OR_RETURN(accepted.reason, entry.String("reason"));
  if (accepted.reason.empty()) return entry.TypeError("reason", "a reason");
  return accepted;
}

std::uint64_t ValueOf(const Counts& counts, const std::string& field) {
  const auto at = counts.find(field);
  return at == counts.end() ? 0 : at->second;
}

std::set<std::string> FieldsOf(const Counts& one, const Counts& other) {
  std::set<std::string> fields;
  for (const Counts* const counts : {&one, &other}) {
    for (const auto& [field, value] : *counts) fields.insert(field);
  }
  return fields;
}

std::string NameOf(const CountedCase& counted) {
  return counted.first.empty() ? counted.second : counted.second + " on " + counted.first;
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string Lines(const std::vector<OrderedJson>& elements) {
  std::string text = "[";
  for (const OrderedJson& element : elements) {
    text += (text.size() > 1 ? ",\n  " : "\n  ") +
            element.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  }
  return text + (elements.empty() ? "]" : "\n ]");
}

// "sm_90" of "NVIDIA H200 (sm_90, 132 SMs, ...)".
std::string ArchitectureOf(const std::string& gpu) {
  const std::size_t begin = gpu.find("sm_");
  if (begin == std::string::npos) return "";
  return gpu.substr(begin, gpu.find_first_of(",) ", begin) - begin);
}

Status AddCounters(const JsonObject& entry, Counts& counts) {
  for (const auto& item : entry.json().items()) {
    if (!IsExactCounter(item.key())) continue;
    DM_ASSIGN_OR_RETURN(const std::uint64_t value, ReadExactCounter(entry, item.key()));
    std::uint64_t& most = counts[item.key()];
    most = std::max(most, value);
  }
  return OkStatus();
}

}  // namespace

StatusOr<RecordedCounts> ParseRecordedCounts(std::string_view text, const std::string& source) {
  DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text, source));
  DM_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Root(json, source));
  DM_ASSIGN_OR_RETURN(const std::uint64_t version, root.U64("schema_version"));
  if (version != kSchemaVersion) {
    return root.TypeError("schema_version", fmt::format("{}", kSchemaVersion));
  }
  RecordedCounts recorded;
  DM_ASSIGN_OR_RETURN(const std::vector<JsonObject> cases, root.ObjectList("cases"));
  for (const JsonObject& entry : cases) {
    DM_ASSIGN_OR_RETURN(const CountedCase counted, ReadCase(entry));
    DM_ASSIGN_OR_RETURN(Counts counts, ReadCounts(entry));
    if (!recorded.cases.emplace(counted, std::move(counts)).second) {
      return DataLossError(
          fmt::format("{}: {} is there twice", entry.Where("case"), NameOf(counted)));
    }
  }
  DM_ASSIGN_OR_RETURN(const std::vector<JsonObject> accepted, root.ObjectList("accepted"));
  for (const JsonObject& entry : accepted) {
    DM_ASSIGN_OR_RETURN(AcceptedCount one, ReadAccepted(entry));
    recorded.accepted.push_back(std::move(one));
  }
  return recorded;
}

std::string PrintRecordedCounts(const RecordedCounts& recorded) {
  std::vector<OrderedJson> cases;
  for (const auto& [counted, counts] : recorded.cases) {
    OrderedJson values = OrderedJson::object();
    for (const auto& [field, value] : counts) {
      if (value > 0) values[field] = value;
    }
    cases.push_back(
        {{"architecture", counted.first}, {"case", counted.second}, {"counts", values}});
  }
  std::vector<OrderedJson> accepted;
  for (const AcceptedCount& one : recorded.accepted) {
    accepted.push_back({{"date", one.date},
                        {"architecture", one.architecture},
                        {"case", one.case_id},
                        {"field", one.field},
                        {"old", one.old_value},
                        {"new", one.new_value},
                        {"reason", one.reason}});
  }
  return fmt::format("{{\n \"schema_version\": {},\n \"cases\": {},\n \"accepted\": {}\n}}\n",
                     kSchemaVersion, Lines(cases), Lines(accepted));
}

std::string CountFinding::ToString() const {
  const std::string name = NameOf(counted);
  switch (kind) {
    case CountFindingKind::kLarger:
      return fmt::format("LARGER {}: {}: expected {} as recorded, found {} (+{})", name, field,
                         expected, found, found - expected);
    case CountFindingKind::kSmaller:
      return fmt::format("SMALLER {}: {}: expected {} as recorded, found {} (-{})", name, field,
                         expected, found, expected - found);
    case CountFindingKind::kMissing:
      return fmt::format("MISSING {}: {}: expected {} as recorded, and it is not counted any more",
                         name, field, expected);
    case CountFindingKind::kGone:
      return fmt::format("GONE {}: it is recorded, and not counted any more", name);
    case CountFindingKind::kNew:
      return fmt::format("NEW {}: nothing is recorded of it", name);
  }
  return "";
}

std::vector<CountFinding> CompareCounts(const RecordedCounts& recorded, const CountedCases& found,
                                        const std::vector<std::string>& architectures) {
  std::vector<CountFinding> findings;
  for (const auto& [counted, expected] : recorded.cases) {
    const auto now = found.find(counted);
    if (now == found.end()) {
      if (Contains(architectures, counted.first)) {
        findings.push_back({.kind = CountFindingKind::kGone, .counted = counted});
      }
      continue;
    }
    for (const std::string& field : FieldsOf(expected, now->second)) {
      const std::uint64_t before = ValueOf(expected, field);
      const std::uint64_t after = ValueOf(now->second, field);
      if (before == after) continue;
      const CountFindingKind kind = after > before                ? CountFindingKind::kLarger
                                    : now->second.contains(field) ? CountFindingKind::kSmaller
                                                                  : CountFindingKind::kMissing;
      findings.push_back(
          {.kind = kind, .counted = counted, .field = field, .expected = before, .found = after});
    }
  }
  for (const auto& [counted, counts] : found) {
    if (!recorded.cases.contains(counted)) {
      findings.push_back({.kind = CountFindingKind::kNew, .counted = counted});
    }
  }
  return findings;
}

std::vector<AcceptedCount> AcceptCounts(const CountedCases& found,
                                        const std::vector<std::string>& architectures,
                                        std::string_view pattern, const Acceptance& acceptance,
                                        RecordedCounts& recorded) {
  std::vector<AcceptedCount> changes;
  std::set<CountedCase> cases;
  for (const CountFinding& finding : CompareCounts(recorded, found, architectures)) {
    if (WildcardMatches(pattern, finding.counted.second)) cases.insert(finding.counted);
  }
  const bool first_record = recorded.cases.empty();
  for (const CountedCase& counted : cases) {
    const auto before = recorded.cases.find(counted);
    const auto after = found.find(counted);
    // Of a case that comes or goes its line says the values.
    const Counts here = {{std::string(kWholeCase), 1}};
    const bool whole = before == recorded.cases.end() || after == found.end();
    const Counts old_counts = !whole                           ? before->second
                              : before == recorded.cases.end() ? Counts()
                                                               : here;
    const Counts new_counts = !whole ? after->second : after == found.end() ? Counts() : here;
    for (const std::string& field : FieldsOf(old_counts, new_counts)) {
      const std::uint64_t old_value = ValueOf(old_counts, field);
      const std::uint64_t new_value = ValueOf(new_counts, field);
      if (old_value == new_value) continue;
      changes.push_back({.date = acceptance.date,
                         .architecture = counted.first,
                         .case_id = counted.second,
                         .field = field,
                         .old_value = old_value,
                         .new_value = new_value,
                         .reason = acceptance.reason});
    }
    if (after == found.end()) {
      recorded.cases.erase(counted);
    } else {
      recorded.cases[counted] = after->second;
    }
  }
  if (!first_record) {
    recorded.accepted.insert(recorded.accepted.end(), changes.begin(), changes.end());
  }
  return changes;
}

StatusOr<CountedCases> CountsOfReport(std::string_view text, const std::string& source) {
  DM_ASSIGN_OR_RETURN(const Json json, ParseJson(text, source, {.allow_nonfinite = true}));
  DM_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Root(json, source));
  std::string architecture;
  if (root.Has("context")) {
    DM_ASSIGN_OR_RETURN(const JsonObject context, root.Object("context"));
    DM_ASSIGN_OR_RETURN(const std::string gpu, context.StringOr("gpu", ""));
    architecture = ArchitectureOf(gpu);
  }
  DM_ASSIGN_OR_RETURN(const std::vector<JsonObject> entries, root.ObjectList("benchmarks"));
  CountedCases cases;
  for (const JsonObject& entry : entries) {
    DM_ASSIGN_OR_RETURN(const bool failed, entry.BoolOr("error_occurred", false));
    DM_ASSIGN_OR_RETURN(const bool skipped, entry.BoolOr("skipped", false));
    if (failed || skipped || entry.Has("aggregate_name")) continue;
    DM_ASSIGN_OR_RETURN(const std::string own_name, entry.String("name"));
    DM_ASSIGN_OR_RETURN(const std::string name, entry.StringOr("run_name", own_name));
    DM_ASSIGN_OR_RETURN(const std::string label, entry.StringOr("label", ""));
    Counts counts;
    DM_RETURN_IF_ERROR(AddCounters(entry, counts));
    if (counts.empty()) continue;
    Counts& most = cases[{architecture, label.empty() ? name : label}];
    for (const auto& [field, value] : counts) most[field] = std::max(most[field], value);
  }
  return cases;
}

}  // namespace draftmark
