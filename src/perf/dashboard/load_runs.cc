// Testbeds, and the nights that stand behind the points.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/base/ascii.h"
#include "src/perf/benchmark_counters.h"
#include "src/perf/dashboard/figures.h"
#include "src/perf/dashboard/load_parts.h"

namespace draftmark {
namespace {

constexpr std::int64_t kSecondsPerDay = 86400;

// What a run's context says of clocks: every entry with "clock" in its name, as "NAME VALUE". One
// pass over the table, since reading whole records would read all their points.
StatusOr<std::map<std::string, std::string>> LoadClocks(HistoryReader& reader) {
  std::map<std::string, std::string> clocks;
  DM_ASSIGN_OR_RETURN(
      SqliteRows rows,
      reader.db().Query("SELECT r.uid, c.name, c.value FROM context c JOIN records r ON r.id = "
                        "c.record WHERE c.name LIKE '%clock%' ORDER BY r.uid, c.name"));
  while (rows.Next()) {
    std::string& text = clocks[rows.Text(0)];
    if (!text.empty()) text += ", ";
    text += rows.Text(1) + " " + rows.Text(2);
  }
  DM_RETURN_IF_ERROR(rows.status());
  return clocks;
}

// The arithmetic's roof of each testbed: what its newest run that measured it says.
Status LoadPeaks(LoadState& state) {
  DM_ASSIGN_OR_RETURN(
      SqliteRows rows,
      state.reader.db().Query(
          "SELECT u.environment, c.value FROM context c JOIN runs u ON u.record = c.record JOIN "
          "records r ON r.id = c.record WHERE c.name = ? AND u.valid ORDER BY r.time, r.uid",
          kGemmContext));
  while (rows.Next()) {
    const double flops = LeadingNumber(rows.Text(1));
    if (!(flops > 0) || !std::isfinite(flops)) continue;
    state.data.testbeds[state.beds.at(rows.Int(0)).testbed].peak_flops = flops;
  }
  return rows.status();
}

struct Found {
  DashboardRun run;
  std::pair<EnvironmentId, std::int32_t> night;
  bool newest = true;  // of its night
};

// Nights stay in their order, whatever a clock that was changed says of their runs: a time that is
// of another day gives way to the night's, and none is before one of an earlier night of its
// testbed.
void OrderByNight(std::vector<Found>& found) {
  for (Found& one : found) {
    const std::int64_t night = one.night.second * kSecondsPerDay;
    if (std::abs(one.run.time - night) > 2 * kSecondsPerDay) one.run.time = night;
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tie(a.night.second, a.run.time) < std::tie(b.night.second, b.run.time);
  });
  std::map<std::size_t, std::int64_t> newest;
  for (Found& one : found) {
    std::int64_t& time = newest.try_emplace(one.run.testbed, one.run.time).first->second;
    time = one.run.time = std::max(time, one.run.time);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Found& a, const Found& b) { return a.run.time < b.run.time; });
}

// Why the night is not to be trusted: the reason of its first run, if none of its runs is valid.
std::string NoteOf(const NightRow& night, const std::map<std::string, RunRow>& runs) {
  std::string reason;
  for (const std::string& id : night.runs) {
    const auto run = runs.find(id);
    if (run == runs.end()) continue;
    if (run->second.valid) return "";
    if (reason.empty()) reason = run->second.reason;
  }
  return reason;
}

}  // namespace

Status LoadTestbeds(LoadState& state) {
  DM_ASSIGN_OR_RETURN(std::vector<EnvironmentRow> rows, state.reader.Environments());
  std::stable_sort(rows.begin(), rows.end(), [](const EnvironmentRow& a, const EnvironmentRow& b) {
    const Environment& one = a.environment;
    const Environment& other = b.environment;
    if (one.architecture == other.architecture) return one < other;
    return ArchitectureLess(one.architecture, other.architecture);
  });
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> found;
  for (const EnvironmentRow& row : rows) {
    const Environment& environment = row.environment;
    const auto [at, is_new] =
        found.emplace(std::tuple(environment.architecture, environment.gpu, environment.clocks),
                      state.data.testbeds.size());
    if (is_new) {
      state.data.testbeds.push_back({.architecture = environment.architecture,
                                     .gpu = environment.gpu,
                                     .clocks_policy = environment.clocks});
    }
    state.beds[row.id] = {environment, at->second};
  }
  return LoadPeaks(state);
}

Status LoadRuns(LoadState& state) {
  DM_ASSIGN_OR_RETURN(const std::vector<NightRow> nights, state.reader.NightRuns());
  DM_ASSIGN_OR_RETURN(std::vector<RunRow> rows, state.reader.Runs());
  DM_ASSIGN_OR_RETURN(const auto clocks, LoadClocks(state.reader));
  std::map<std::string, RunRow> by_id;
  for (RunRow& row : rows) by_id.emplace(row.id, std::move(row));
  std::vector<Found> found;
  for (const NightRow& night : nights) {
    const LoadState::Bed& bed = state.beds.at(night.environment);
    const DashboardRun run{.testbed = bed.testbed,
                           .time = night.day * kSecondsPerDay,
                           .commit = night.commit,
                           .driver = bed.environment.driver,
                           .cuda = bed.environment.cuda,
                           .clocks = bed.environment.clocks,
                           .note = NoteOf(night, by_id)};
    const std::pair key(night.environment, night.day);
    // The last run of a commit that is still there stands for it, the last one of all for the
    // night.
    std::set<std::string> commits;
    for (auto id = night.runs.rbegin(); id != night.runs.rend(); ++id) {
      const auto row = by_id.find(*id);
      const std::string& commit = row == by_id.end() ? night.commit : row->second.commit;
      if (!commits.insert(commit).second) continue;
      DashboardRun one = run;
      one.id = *id;
      one.commit = commit;
      if (row != by_id.end()) {
        one.time = row->second.time;
        one.command = row->second.command;
      }
      if (const auto measured = clocks.find(one.id); measured != clocks.end()) {
        one.clocks += (one.clocks.empty() ? "" : ", ") + measured->second;
      }
      found.push_back({std::move(one), key, id == night.runs.rbegin()});
    }
    if (night.runs.empty()) found.push_back({run, key});
  }
  OrderByNight(found);
  for (Found& one : found) {
    const std::size_t index = state.data.runs.size();
    if (one.newest) state.runs[one.night] = index;
    state.by_commit[one.night][one.run.commit] = index;
    state.data.runs.push_back(std::move(one.run));
  }
  return OkStatus();
}

}  // namespace draftmark
