#include "tools/commands/perf/night_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "src/perf/history/utc_time.h"

namespace draftmark {
namespace {

struct Before {
  std::string night;
  std::int64_t value = 0;
};

// The value since its last change before `night`; of several changes in a night the largest.
StatusOr<std::optional<Before>> ValueBefore(HistoryReader& reader, SeriesId series,
                                            const std::string& counter, const std::string& night) {
  DM_ASSIGN_OR_RETURN(const std::vector<CountChange> changes, reader.CountChanges(series, counter));
  std::optional<Before> before;
  for (const CountChange& change : changes) {
    if (change.night >= night) break;
    const bool same_night = before && before->night == change.night;
    before =
        Before{change.night, same_night ? std::max(before->value, change.value) : change.value};
  }
  return before;
}

// Whether so much is recorded on purpose.
bool IsRecorded(const RecordedCounts& recorded, const std::string& architecture,
                const NightCount& count) {
  const auto counts = recorded.cases.find({architecture, count.key.first});
  if (counts == recorded.cases.end()) return false;
  const auto value = counts->second.find(count.counter);
  return value != counts->second.end() && count.found >= 0 &&
         value->second >= static_cast<std::uint64_t>(count.found);
}

CountChangeKind ChangeOf(const NightCount& count, const RecordedCounts& recorded,
                         const std::string& architecture) {
  if (count.found < count.before) return CountChangeKind::kSmaller;
  if (count.found == count.before || IsRecorded(recorded, architecture, count)) {
    return CountChangeKind::kSame;
  }
  return CountChangeKind::kLarger;
}

// The last night before `night` in which anything was timed.
std::string LastNight(const EnvironmentNights& nights, Day night) {
  Day last = 0;
  for (const auto& [key, before] : nights.before) {
    for (const auto& [day, seconds] : before.nights) {
      if (day < night) last = std::max(last, day);
    }
  }
  return last == 0 ? "" : NightOfDay(last);
}

// Counters that the last night had, and tonight's runs of the case have not.
Status AddMissing(HistoryReader& reader, const EnvironmentNights& nights, Day night,
                  std::vector<NightCount>& counts) {
  const std::string last = LastNight(nights, night);
  if (last.empty()) return OkStatus();
  DM_ASSIGN_OR_RETURN(const std::vector<CountRow> rows,
                      reader.NewestCounts({.environment = nights.id}));
  for (const CountRow& row : rows) {
    const CaseKey key = {row.series.case_id, row.series.schema};
    if (row.night != last || !nights.tonight.cases().contains(key)) continue;
    const auto found = nights.tonight.counts().find(key);
    if (found != nights.tonight.counts().end() && found->second.contains(row.field)) continue;
    counts.push_back({.key = key,
                      .counter = row.field,
                      .change = CountChangeKind::kMissing,
                      .before = row.value,
                      .night = row.night});
  }
  return OkStatus();
}

}  // namespace

std::string NightCount::ToString() const {
  switch (change) {
    case CountChangeKind::kSame:
      return "";
    case CountChangeKind::kLarger:
      return fmt::format("LARGER {}: {}: expected {} as in night {}, found {} (+{})", key.first,
                         counter, before, night, found, found - before);
    case CountChangeKind::kSmaller:
      return fmt::format("SMALLER {}: {}: expected {} as in night {}, found {} (-{})", key.first,
                         counter, before, night, found, before - found);
    case CountChangeKind::kMissing:
      return fmt::format(
          "MISSING {}: {}: expected {} as in night {}, and it is not counted any more", key.first,
          counter, before, night);
  }
  return "";
}

StatusOr<std::vector<NightCount>> CompareNightCounts(HistoryReader& reader,
                                                     const EnvironmentNights& nights, Day night,
                                                     const RecordedCounts& recorded) {
  std::vector<NightCount> counts;
  for (const auto& [key, found] : nights.tonight.counts()) {
    const auto series = nights.series.find(key);
    if (series == nights.series.end()) continue;
    for (const auto& [counter, value] : found) {
      DM_ASSIGN_OR_RETURN(const std::optional<Before> before,
                          ValueBefore(reader, series->second, counter, NightOfDay(night)));
      if (!before) continue;
      NightCount count{.key = key,
                       .counter = counter,
                       .before = before->value,
                       .found = value,
                       .night = before->night};
      count.change = ChangeOf(count, recorded, nights.environment.architecture);
      counts.push_back(std::move(count));
    }
  }
  DM_RETURN_IF_ERROR(AddMissing(reader, nights, night, counts));
  std::stable_sort(counts.begin(), counts.end(), [](const NightCount& a, const NightCount& b) {
    return std::tie(a.key, a.counter) < std::tie(b.key, b.counter);
  });
  return counts;
}

}  // namespace draftmark
