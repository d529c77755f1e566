#include "tools/commands/dashboard/build_counts.h"

#include <cstdint>
#include <optional>

#include "conformance/counts/scratch_counts.h"
#include "src/base/file_system.h"
#include "src/base/find_in_checkout.h"
#include "src/perf/dashboard/count_unit.h"
#include "src/perf/recorded_counts.h"

namespace draftmark {
namespace {

// Absent for a case of which nothing is recorded; a field that is not there is 0.
std::optional<std::uint64_t> RecordedOf(const RecordedCounts& recorded, const CountedCase& counted,
                                        const std::string& field) {
  const auto found = recorded.cases.find(counted);
  if (found == recorded.cases.end()) return std::nullopt;
  const auto value = found->second.find(field);
  return value == found->second.end() ? 0 : value->second;
}

}  // namespace

Status AddBuildCounts(const std::string& configs, const std::string& recorded,
                      DashboardData& data) {
  DM_ASSIGN_OR_RETURN(const CountedCases now, CountScratch(configs));
  DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(recorded));
  DM_ASSIGN_OR_RETURN(const RecordedCounts record, ParseRecordedCounts(text, recorded));
  std::erase_if(data.counts, [&](const DashboardCount& count) {
    return now.contains({count.architecture, count.case_id});
  });
  // Of a GPU's counts the history knows their least value only, and the record what was accepted.
  for (DashboardCount& count : data.counts) {
    const auto known = record.cases.find({count.architecture, count.case_id});
    if (known == record.cases.end()) continue;
    const auto value = known->second.find(count.field);
    if (value != known->second.end()) count.recorded = value->second;
  }
  for (const auto& [counted, counts] : now) {
    for (const auto& [field, value] : counts) {
      data.counts.push_back({.architecture = counted.first,
                             .case_id = counted.second,
                             .field = field,
                             .value = value,
                             .recorded = RecordedOf(record, counted, field),
                             .is_bytes = CountsBytes(field)});
    }
  }
  return OkStatus();
}

Status AddBuildCountsOfCheckout(DashboardData& data) {
  const std::optional<std::string> configs = FindInCheckout(
      "golden/configs", [](const std::string& path) { return RealFileSystem().IsDirectory(path); });
  const std::optional<std::string> recorded =
      FindInCheckout("benchmarks/recorded/counts.json",
                     [](const std::string& path) { return RealFileSystem().IsFile(path); });
  if (!configs || !recorded) return OkStatus();
  return AddBuildCounts(*configs, *recorded, data);
}

}  // namespace draftmark
