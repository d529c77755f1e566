// Exact counts against what is recorded, and the conformance matrix.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/perf/dashboard/count_unit.h"
#include "src/perf/dashboard/load_parts.h"
#include "src/perf/history/utc_time.h"

namespace draftmark {
namespace {

// Of accepts the newest that applies to the architecture.
const AcceptRecord* FindAccept(const std::vector<AcceptRecord>& accepts, const CountRow& row,
                               const std::string& architecture) {
  const AcceptRecord* newest = nullptr;
  for (const AcceptRecord& accept : accepts) {
    const bool fits = accept.case_id == row.series.case_id && accept.schema == row.series.schema &&
                      accept.field == row.field &&
                      (accept.architecture.empty() || accept.architecture == architecture);
    if (fits && (newest == nullptr || accept.time >= newest->time)) newest = &accept;
  }
  return newest;
}

StatusOr<std::int64_t> RecordedValue(HistoryReader& reader, const CountRow& row,
                                     const AcceptRecord* accept) {
  DM_ASSIGN_OR_RETURN(const std::vector<CountChange> changes,
                      reader.CountChanges(row.series.id, row.field));
  std::int64_t least = accept != nullptr ? accept->new_value : row.value;
  const std::string since = accept != nullptr ? NightOf(accept->time) : "";
  for (const CountChange& change : changes) {
    if (change.night > since) least = std::min(least, change.value);
  }
  return least;
}

CellState StateOf(const ConformanceCell& cell) {
  return cell.failed > 0   ? CellState::kFailed
         : cell.waived > 0 ? CellState::kWaived
         : cell.cases > 0  ? CellState::kPassed
                           : CellState::kNeverRun;
}

// What failed, or what is waived and until when; the first few.
StatusOr<std::string> DetailOf(HistoryReader& reader, const ConformanceCell& cell) {
  constexpr std::size_t kMost = 3;
  DM_ASSIGN_OR_RETURN(const std::vector<ConformanceRow> rows,
                      reader.Conformance(cell.architecture, cell.operation));
  std::string detail;
  std::size_t count = 0;
  for (const ConformanceRow& row : rows) {
    const ConformanceResult& result = row.result;
    const bool has_failed = IsConformanceFailure(result.status);
    if (cell.failed > 0 ? !has_failed : result.waiver.empty()) continue;
    if (++count > kMost) continue;
    if (!detail.empty()) detail += "; ";
    detail += result.case_id + ": ";
    detail += has_failed ? result.status + (result.signature.empty() ? "" : " " + result.signature)
                         : result.waiver;
    if (!result.expires.empty()) detail += ", until " + result.expires;
  }
  if (count > kMost) detail += fmt::format("; and {} more", count - kMost);
  return detail;
}

}  // namespace

Status LoadCounts(LoadState& state) {
  DM_ASSIGN_OR_RETURN(const std::vector<CountRow> rows, state.reader.NewestCounts());
  DM_ASSIGN_OR_RETURN(const std::vector<AcceptRecord> accepts, state.reader.Accepts());
  // Drivers and GPUs of one architecture count alike: the newest value of each count.
  std::map<std::tuple<std::string, std::string, std::string>, const CountRow*> newest;
  for (const CountRow& row : rows) {
    const std::string& architecture =
        state.beds.at(row.series.environment).environment.architecture;
    const CountRow*& found = newest[{row.series.case_id, architecture, row.field}];
    const bool is_newer = found == nullptr || std::tie(found->series.schema, found->time) <=
                                                  std::tie(row.series.schema, row.time);
    if (is_newer) found = &row;
  }
  for (const auto& [key, row] : newest) {
    const std::string& architecture = std::get<1>(key);
    DM_ASSIGN_OR_RETURN(const std::int64_t recorded,
                        RecordedValue(state.reader, *row, FindAccept(accepts, *row, architecture)));
    state.data.counts.push_back({.architecture = architecture,
                                 .case_id = row->series.case_id,
                                 .field = row->field,
                                 .value = static_cast<std::uint64_t>(row->value),
                                 .recorded = static_cast<std::uint64_t>(recorded),
                                 .is_bytes = CountsBytes(row->field),
                                 .commit = row->commit});
  }
  return OkStatus();
}

Status LoadConformance(LoadState& state) {
  DM_ASSIGN_OR_RETURN(const std::vector<ConformanceCell> cells, state.reader.ConformanceMatrix());
  std::set<std::string> operations(state.options.operations.begin(),
                                   state.options.operations.end());
  std::set<std::string> architectures(state.options.architectures.begin(),
                                      state.options.architectures.end());
  std::map<std::pair<std::string, std::string>, MatrixCell> matrix;
  for (const ConformanceCell& cell : cells) {
    operations.insert(cell.operation);
    architectures.insert(cell.architecture);
    MatrixCell made{.operation = cell.operation,
                    .architecture = cell.architecture,
                    .state = StateOf(cell),
                    .cases = static_cast<std::size_t>(std::max<std::int64_t>(cell.cases, 0)),
                    .used_share = cell.used_share};
    if (made.state == CellState::kFailed || made.state == CellState::kWaived) {
      DM_ASSIGN_OR_RETURN(made.detail, DetailOf(state.reader, cell));
    }
    matrix[{cell.operation, cell.architecture}] = std::move(made);
  }
  for (const std::string& operation : operations) {
    for (const std::string& architecture : architectures) {
      const auto [at, is_new] = matrix.try_emplace({operation, architecture});
      if (!is_new) continue;
      at->second = {.operation = operation, .architecture = architecture};
      const auto known = state.options.known.find({operation, architecture});
      if (known != state.options.known.end()) at->second.detail = known->second;
    }
  }
  for (auto& [key, cell] : matrix) state.data.conformance.push_back(std::move(cell));
  return OkStatus();
}

}  // namespace draftmark
