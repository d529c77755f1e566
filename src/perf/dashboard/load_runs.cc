// Testbeds, and the nights that stand behind the points.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

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
  return OkStatus();
}

Status LoadRuns(LoadState& state) {
  DM_ASSIGN_OR_RETURN(const std::vector<NightRow> nights, state.reader.NightRuns());
  DM_ASSIGN_OR_RETURN(std::vector<RunRow> rows, state.reader.Runs());
  DM_ASSIGN_OR_RETURN(const auto clocks, LoadClocks(state.reader));
  std::map<std::string, RunRow> by_id;
  for (RunRow& row : rows) by_id.emplace(row.id, std::move(row));
  std::vector<std::pair<DashboardRun, std::pair<EnvironmentId, std::int32_t>>> found;
  for (const NightRow& night : nights) {
    const LoadState::Bed& bed = state.beds.at(night.environment);
    DashboardRun run{.testbed = bed.testbed,
                     .time = night.day * kSecondsPerDay,
                     .commit = night.commit,
                     .driver = bed.environment.driver,
                     .cuda = bed.environment.cuda,
                     .clocks = bed.environment.clocks,
                     .note = NoteOf(night, by_id)};
    // The last run that is still there stands for the night.
    if (!night.runs.empty()) {
      run.id = night.runs.back();
      if (const auto row = by_id.find(run.id); row != by_id.end()) {
        run.time = row->second.time;
        run.command = row->second.command;
      }
      if (const auto measured = clocks.find(run.id); measured != clocks.end()) {
        run.clocks += (run.clocks.empty() ? "" : ", ") + measured->second;
      }
    }
    found.emplace_back(std::move(run), std::pair(night.environment, night.day));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first.time < b.first.time; });
  for (auto& [run, night] : found) {
    state.runs[night] = state.data.runs.size();
    state.data.runs.push_back(std::move(run));
  }
  return OkStatus();
}

}  // namespace draftmark
