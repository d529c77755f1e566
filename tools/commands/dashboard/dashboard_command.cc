#include "tools/commands/dashboard/dashboard_command.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "conformance/expectations/architectures.h"
#include "src/base/file_system.h"
#include "src/base/stale_temporaries.h"
#include "src/base/status.h"
#include "src/operations/registry.h"
#include "src/perf/dashboard/dashboard_data.h"
#include "src/perf/dashboard/demo_history.h"
#include "src/perf/dashboard/load_dashboard.h"
#include "src/perf/dashboard/tally.h"
#include "src/perf/history/history.h"
#include "src/perf/history/history_reader.h"
#include "tools/commands/dashboard/build_counts.h"
#include "tools/commands/dashboard/write_dashboard.h"
#include "tools/commands/u64_option.h"

namespace draftmark {
namespace {

// Columns of the conformance matrix of a synthetic history.
const std::vector<std::string> kDemoArchitectures = {"sm_80", "sm_89", "sm_90", "sm_100", "sm_120"};

struct DashboardOptions {
  std::string database;
  std::string out;
  std::string title = "Draftmark";
  bool demo = false;
  std::uint64_t seed = 1, cases = 60, nights = 120;
  OutputFormat format = OutputFormat::kText;
};

// A folder for a database that nobody asked to keep; gone with everything in it at the end.
class TemporaryFolder {
 public:
  static StatusOr<std::unique_ptr<TemporaryFolder>> Make() {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    std::string path = (parent / "draftmark-demo-XXXXXX").string();
    if (error || ::mkdtemp(path.data()) == nullptr) {
      return UnavailableError(path + ": cannot make a temporary folder; give --db FILE");
    }
    return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(std::move(path)));
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

std::int64_t SecondsOf(std::chrono::year_month_day day) {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::sys_days(day).time_since_epoch())
      .count();
}

// Rows and columns beyond those of the history; outside of a checkout nothing is known.
Status AddKnownArchitectures(LoadOptions& load) {
  const StatusOr<Architectures> known = ReadArchitecturesOfCheckout();
  if (!known.ok()) {
    return known.status().code() == StatusCode::kNotFound ? OkStatus() : known.status();
  }
  for (const ArchitectureRow& row : known->rows) {
    if (load.architectures.empty() || load.architectures.back() != row.architecture) {
      load.architectures.push_back(row.architecture);
    }
    load.known[{row.operation, row.architecture}] = row.Text();
  }
  return OkStatus();
}

StatusOr<DashboardData> Load(const std::string& database, const std::string& source,
                             const DashboardOptions& options, const Clock& clock) {
  DM_ASSIGN_OR_RETURN(HistoryReader reader, HistoryReader::Open(database));
  LoadOptions load{.title = options.title, .source = source};
  load.now = SecondsOf(clock.Today());
  for (const Operation& operation : AllOperations()) {
    load.operations.push_back(fmt::format("op/{}", operation.name));
  }
  load.operations.push_back("draft");
  if (options.demo) {
    load.architectures = kDemoArchitectures;
  } else {
    DM_RETURN_IF_ERROR(AddKnownArchitectures(load));
  }
  DM_ASSIGN_OR_RETURN(DashboardData data, LoadDashboard(reader, load));
  data.is_demo = options.demo;
  // Synthetic nights and this build's memory on one page would only mislead.
  if (!options.demo) DM_RETURN_IF_ERROR(AddBuildCountsOfCheckout(data));
  return data;
}

// Writes the synthetic history to `database` and shows it from there, as a real one.
StatusOr<DashboardData> LoadDemo(const std::string& database, const DashboardOptions& options,
                                 const Clock& clock) {
  {
    DM_ASSIGN_OR_RETURN(History history, History::Open(database));
    constexpr std::int64_t kTwoHours = 7200;
    DM_RETURN_IF_ERROR(WriteDemoHistory({.seed = options.seed,
                                         .cases = options.cases,
                                         .nights = options.nights,
                                         .last_night = SecondsOf(clock.Today()) + kTwoHours},
                                        history));
  }
  return Load(database, fmt::format("a synthetic history, seed {}", options.seed), options, clock);
}

StatusOr<DashboardData> LoadEither(const DashboardOptions& options, const Clock& clock) {
  if (!options.demo) return Load(options.database, options.database, options, clock);
  if (options.database.empty()) {
    DM_ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryFolder> folder, TemporaryFolder::Make());
    return LoadDemo(JoinPath(folder->path(), "demo.db"), options, clock);
  }
  // Synthetic nights must never get into a history of real ones.
  if (std::error_code ignored; std::filesystem::exists(options.database, ignored)) {
    return FailedPreconditionError(
        fmt::format("{}: --demo writes a new history, but this is there", options.database));
  }
  return LoadDemo(options.database, options, clock);
}

void Report(const DashboardData& data, const std::vector<std::string>& files,
            const DashboardOptions& options, CommandContext& context) {
  const Tally tally = TallyOf(data);
  if (options.format == OutputFormat::kJson) {
    return PrintJson(context.out, {{"schema_version", 1},
                                   {"out", options.out},
                                   {"files", files},
                                   {"testbeds", data.testbeds.size()},
                                   {"runs", data.runs.size()},
                                   {"trends", data.series.size()},
                                   {"points", tally.points},
                                   {"verdicts", tally.verdicts},
                                   {"slower", tally.slower},
                                   {"grown", tally.grown},
                                   {"failed", tally.failed},
                                   {"suites_failed", tally.suites_failed}});
  }
  context.out << fmt::format(
      "{}: {} trends of {} points on {} testbeds; {} of {} newest verdicts slower, {} counts "
      "grown, {} conformance failures, {} suites failed\n",
      JoinPath(options.out, files.back()), data.series.size(), tally.points, data.testbeds.size(),
      tally.slower, tally.verdicts, tally.grown, tally.failed, tally.suites_failed);
}

Status MakeDashboard(const DashboardOptions& options, CommandContext& context) {
  if (options.database.empty() && !options.demo) {
    return InvalidArgumentError("dashboard: expected --db FILE, or --demo");
  }
  DM_ASSIGN_OR_RETURN(const DashboardData data, LoadEither(options, context.clock));
  // Of an earlier run that was killed while it wrote.
  RemoveStaleTemporaries(options.out);
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> files, WriteDashboard(data, options.out));
  Report(data, files, options, context);
  return OkStatus();
}

}  // namespace

void AddDashboardCommand(CLI::App& app, CommandContext& context) {
  auto options = std::make_shared<DashboardOptions>();
  CLI::App& command =
      *app.add_subcommand("dashboard", "Show a history of benchmarks and conformance as one page");
  command.footer(
      "Writes index.html, which needs no network and no other file, and points.csv, verdicts.csv, "
      "junit.xml\nand metrics.txt (OpenMetrics) beside it.");
  command.add_option("--db", options->database,
                     "history to show; with --demo, where the synthetic one is kept (a new file)");
  command.add_option("--out", options->out, "folder for the page; made if it is not there")
      ->required();
  command.add_option("--title", options->title, "what the page is called")->capture_default_str();
  CLI::Option* const demo = command.add_flag("--demo", options->demo,
                                             "shows a synthetic history instead of a measured one");
  AddU64Option(command, "--seed", options->seed, "of the synthetic history (default 1)")
      ->needs(demo);
  AddU64Option(command, "--cases", options->cases,
               "cases of each of its three testbeds, at least 8 (default 60)")
      ->needs(demo);
  AddU64Option(command, "--nights", options->nights, "its nights, at least 12 (default 120)")
      ->needs(demo);
  AddFormatOption(command, options->format);
  command.callback([options, &context] {
    if (const Status status = MakeDashboard(*options, context); !status.ok()) context.Fail(status);
  });
}

}  // namespace draftmark
