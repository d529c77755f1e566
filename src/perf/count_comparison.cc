#include "src/perf/count_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace draftmark {
namespace {

bool Varies(const std::optional<CountRange>& range) { return range && range->least < range->most; }

std::string RangeText(const CountRange& range) {
  return range.least == range.most ? fmt::format("{}", range.most)
                                   : fmt::format("{} to {}", range.least, range.most);
}

std::optional<CountRange> Find(const CountRanges& ranges, const std::string& counter) {
  const auto at = ranges.find(counter);
  return at == ranges.end() ? std::nullopt : std::optional<CountRange>(at->second);
}

}  // namespace

void AddCounts(const std::map<std::string, std::uint64_t>& counts, CountRanges& ranges) {
  for (const auto& [counter, count] : counts) {
    CountRange& range = ranges.try_emplace(counter, CountRange{count, count}).first->second;
    range.least = std::min(range.least, count);
    range.most = std::max(range.most, count);
  }
}

std::string CountComparison::ToString() const {
  if (!base || !next) {
    return fmt::format("{}: {}, only in {}", counter, RangeText(base ? *base : *next),
                       base ? "BASE" : "NEW");
  }
  std::string text =
      fmt::format("{}: expected {} as in BASE, found {}", counter, base->most, next->most);
  if (Larger()) text += fmt::format(" (+{})", next->most - base->most);
  if (Smaller()) text += fmt::format(" (-{})", base->most - next->most);
  for (const bool of_base : {true, false}) {
    if (!Varies(of_base ? base : next)) continue;
    text += fmt::format("; runs of {} differ: {}", of_base ? "BASE" : "NEW",
                        RangeText(of_base ? *base : *next));
  }
  return Larger() || Smaller() || Varies(base) || Varies(next) ? text : "";
}

std::vector<CountComparison> CompareCountRanges(const CountRanges& base, const CountRanges& next) {
  std::set<std::string> counters;
  for (const CountRanges* const side : {&base, &next}) {
    for (const auto& [counter, range] : *side) counters.insert(counter);
  }
  std::vector<CountComparison> compared;
  compared.reserve(counters.size());
  for (const std::string& counter : counters) {
    compared.push_back({counter, Find(base, counter), Find(next, counter)});
  }
  return compared;
}

std::string CountLines(const std::string& case_name, const std::vector<CountComparison>& counts) {
  std::string text;
  for (const CountComparison& count : counts) {
    const std::string said = count.ToString();
    if (said.empty()) continue;
    const char* const word = count.Larger()    ? "LARGER"
                             : count.Smaller() ? "SMALLER"
                             : count.Missing() ? "MISSING"
                                               : "COUNT";
    text += fmt::format("{} {}: {}\n", word, case_name, said);
  }
  return text;
}

}  // namespace draftmark
