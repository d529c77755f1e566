#include "tools/commands/perf/aa_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "src/base/file_system.h"
#include "src/perf/benchmark_counters.h"
#include "src/perf/history/history_reader.h"
#include "src/perf/history/import_facts.h"
#include "src/perf/history/import_google_benchmark.h"
#include "src/perf/history/utc_time.h"

namespace draftmark {
namespace {

constexpr std::int64_t kDaySeconds = 86400;

std::string Value(const ReportContext& context, const std::string& key) {
  const auto at = context.find(key);
  return at == context.end() ? "" : at->second;
}

std::int64_t StartOfToday(const Clock& clock) {
  return std::chrono::sys_days(clock.Today()).time_since_epoch().count() * kDaySeconds;
}

}  // namespace

Environment EnvironmentOf(const ReportContext& context) {
  Environment environment = EnvironmentOfDevice(Value(context, "gpu"));
  if (environment.architecture.empty() && environment.gpu.empty()) environment.architecture = "cpu";
  environment.driver = Value(context, "driver");
  const std::string clocks = ClocksPolicyOf(Value(context, kClocksContext));
  environment.clocks = clocks.empty() ? kDefaultClocks : clocks;
  return environment;
}

std::int64_t TimeOf(const ReportContext& context, const Clock& clock) {
  return ParseUtc(Value(context, "date")).value_or(StartOfToday(clock));
}

StatusOr<AaBook> AaBook::Read(const std::string& database, const Clock& clock) {
  AaBook book;
  if (!RealFileSystem().IsFile(database)) return book;
  DM_ASSIGN_OR_RETURN(HistoryReader reader, HistoryReader::Open(database));
  DM_ASSIGN_OR_RETURN(const std::vector<EnvironmentRow> environments, reader.Environments());
  std::map<EnvironmentId, std::string> architectures;
  for (const EnvironmentRow& row : environments) {
    architectures[row.id] = row.environment.architecture;
  }
  DM_ASSIGN_OR_RETURN(const std::vector<AaRow> rows,
                      reader.AaQuality(StartOfToday(clock) - (kAaDays - 1) * kDaySeconds));
  for (const AaRow& row : rows) {
    const std::string& architecture = architectures[row.environment];
    if (row.comparisons > 0) {
      double& spread = book.spreads_[architecture][row.case_id];
      spread = std::max(spread, row.spread);
    }
    AaCounts& counts = book.counts_[architecture];
    counts.comparisons += row.comparisons;
    counts.alarms += row.false_alarms;
    counts.unclear += row.unclear;
    counts.invalid += row.invalid;
  }
  return book;
}

std::string AaBook::Note(const std::string& architecture) const {
  const AaCounts counts = Counts(architecture);
  if (counts.comparisons > 0 || counts.invalid == 0) return "";
  return fmt::format(
      "none of {} A/A comparisons on {} in {} days has a verdict: how far its alarms can be "
      "trusted "
      "is not known",
      counts.invalid, architecture, kAaDays);
}

double AaBook::Spread(const std::string& architecture, const std::string& name) const {
  const auto cases = spreads_.find(architecture);
  if (cases == spreads_.end()) return 0;
  const auto spread = cases->second.find(CaseIdOfBenchmark(name));
  return spread == cases->second.end() ? 0 : spread->second;
}

AaCounts AaBook::Counts(const std::string& architecture) const {
  const auto at = counts_.find(architecture);
  return at == counts_.end() ? AaCounts() : at->second;
}

std::string AaBook::Advisory(const std::string& architecture) const {
  const AaCounts counts = Counts(architecture);
  if (!IsNoisy(counts)) return "";
  return fmt::format(
      "A/A runs on {} raised {} false alarms in {} comparisons of {} days ({:.1f} per 1,000, more "
      "than {})",
      architecture, counts.alarms, counts.comparisons, kAaDays, counts.PerThousand(),
      kMostAlarmsPerThousand);
}

}  // namespace draftmark
