#include "tools/commands/history/list_command.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/perf/history/history_reader.h"
#include "src/perf/history/record_jsonl.h"
#include "src/perf/history/tombstone.h"
#include "src/perf/history/utc_time.h"
#include "tools/commands/history/history_options.h"
#include "tools/commands/history/show_text.h"
#include "tools/commands/one_of.h"

namespace draftmark {
namespace {

enum class What { kRuns, kGates, kSeries, kEnvironments, kDropped };

struct ListOptions {
  std::string database;
  What what = What::kRuns;
  RunFilter filter = {.limit = 20};
  OutputFormat format = OutputFormat::kText;
};

constexpr std::size_t kShownCommit = 10;

std::string RunLine(const RunRow& run, const std::map<EnvironmentId, std::string>& environments) {
  std::string line = fmt::format("{} {} {:<10} {} {}", run.id, FormatUtc(run.time),
                                 run.commit.substr(0, kShownCommit), run.program,
                                 environments.at(run.environment));
  if (run.points > 0) line += fmt::format(", {} points", run.points);
  if (run.conformance > 0) {
    line += fmt::format(", {} cases, {} failed", run.conformance, run.conformance_failed);
  }
  if (run.suites > 0) line += fmt::format(", {} suites", run.suites);
  if (run.suites_failed > 0) {
    line += fmt::format(", {} FAILED: {}", run.suites_failed, run.failed_suites);
  }
  if (!run.valid) line += fmt::format(", INVALID: {}", run.reason);
  return line + "\n";
}

OrderedJson RunJson(const RunRow& run) {
  return {{"id", run.id},
          {"time", FormatUtc(run.time)},
          {"night", run.night},
          {"commit", run.commit},
          {"program", run.program},
          {"session", run.session},
          {"number", run.number},
          {"environment", run.environment},
          {"valid", run.valid},
          {"reason", run.reason},
          {"command", run.command},
          {"points", run.points},
          {"conformance", run.conformance},
          {"conformance_failed", run.conformance_failed},
          {"suites", run.suites},
          {"suites_failed", run.suites_failed},
          {"failed_suites", run.failed_suites}};
}

std::string GateLine(const GateRow& gate,
                     const std::map<EnvironmentId, std::string>& environments) {
  return fmt::format("{} {} {} {} {}..{} {}, {} cases, {} slower{}\n", gate.id,
                     FormatUtc(gate.time), gate.mode, gate.verdict,
                     gate.base_commit.substr(0, kShownCommit),
                     gate.next_commit.substr(0, kShownCommit), environments.at(gate.environment),
                     gate.cases, gate.slower, gate.advisory ? ", advisory" : "");
}

OrderedJson GateJson(const GateRow& gate) {
  return {{"id", gate.id},
          {"time", FormatUtc(gate.time)},
          {"night", gate.night},
          {"mode", gate.mode},
          {"verdict", gate.verdict},
          {"exit_code", gate.exit_code},
          {"advisory", gate.advisory},
          {"base_commit", gate.base_commit},
          {"new_commit", gate.next_commit},
          {"environment", gate.environment},
          {"cases", gate.cases},
          {"slower", gate.slower},
          {"command", gate.command}};
}

// Prints one kind of rows in either format.
class Lister {
 public:
  Lister(const ListOptions& options, HistoryReader& reader, CommandContext& context)
      : options_(options), reader_(reader), context_(context) {}

  Status List() {
    DM_RETURN_IF_ERROR(ReadEnvironments());
    switch (options_.what) {
      case What::kRuns:
        DM_RETURN_IF_ERROR(ListRuns());
        break;
      case What::kGates:
        DM_RETURN_IF_ERROR(ListGates());
        break;
      case What::kSeries:
        DM_RETURN_IF_ERROR(ListSeries());
        break;
      case What::kEnvironments:
        for (const OrderedJson& row : json_["environments"]) {
          text_ += fmt::format("{}: {} runs\n", names_.at(row["id"].get<EnvironmentId>()),
                               row["runs"].get<std::int64_t>());
        }
        break;
      case What::kDropped:
        DM_RETURN_IF_ERROR(ListDropped());
        break;
    }
    if (options_.format == OutputFormat::kJson) {
      PrintJson(context_.out, json_);
    } else {
      context_.out << text_;
    }
    return OkStatus();
  }

 private:
  Status ReadEnvironments() {
    json_ = {
        {"schema_version", 1}, {"db", options_.database}, {"environments", OrderedJson::array()}};
    DM_ASSIGN_OR_RETURN(const std::vector<EnvironmentRow> rows, reader_.Environments());
    for (const EnvironmentRow& row : rows) {
      const Environment& e = row.environment;
      names_[row.id] = EnvironmentText(e);
      json_["environments"].push_back({{"id", row.id},
                                       {"architecture", e.architecture},
                                       {"gpu", e.gpu},
                                       {"driver", e.driver},
                                       {"cuda", e.cuda},
                                       {"clocks", e.clocks},
                                       {"runs", row.runs}});
    }
    return OkStatus();
  }
  Status ListRuns() {
    DM_ASSIGN_OR_RETURN(const std::vector<RunRow> runs, reader_.Runs(options_.filter));
    json_["runs"] = OrderedJson::array();
    for (const RunRow& run : runs) {
      text_ += RunLine(run, names_);
      json_["runs"].push_back(RunJson(run));
    }
    return OkStatus();
  }
  Status ListGates() {
    DM_ASSIGN_OR_RETURN(const std::vector<GateRow> gates, reader_.Gates(options_.filter.limit));
    json_["gates"] = OrderedJson::array();
    for (const GateRow& gate : gates) {
      text_ += GateLine(gate, names_);
      json_["gates"].push_back(GateJson(gate));
    }
    return OkStatus();
  }
  Status ListSeries() {
    DM_ASSIGN_OR_RETURN(const std::vector<SeriesRow> all,
                        reader_.Series({.architecture = options_.filter.architecture}));
    json_["series"] = OrderedJson::array();
    for (const SeriesRow& series : all) {
      text_ += fmt::format("{} schema {} {}\n", series.case_id, series.schema,
                           names_.at(series.environment));
      json_["series"].push_back({{"case", series.case_id},
                                 {"schema", series.schema},
                                 {"environment", series.environment}});
    }
    return OkStatus();
  }

  Status ListDropped() {
    DM_ASSIGN_OR_RETURN(const std::vector<std::string> ids, DroppedIds(options_.database));
    json_["dropped"] = OrderedJson::array();
    for (const std::string& uid : ids) {
      DM_ASSIGN_OR_RETURN(const Tombstone tombstone, ReadTombstone(options_.database, uid));
      text_ += fmt::format("{} {} {}\n", uid, tombstone.date, tombstone.reason);
      json_["dropped"].push_back(
          {{"id", uid}, {"date", tombstone.date}, {"reason", tombstone.reason}});
    }
    return OkStatus();
  }

  const ListOptions& options_;
  HistoryReader& reader_;
  CommandContext& context_;
  std::map<EnvironmentId, std::string> names_;
  std::string text_;
  OrderedJson json_;
};

Status List(const ListOptions& options, CommandContext& context) {
  DM_ASSIGN_OR_RETURN(HistoryReader reader, HistoryReader::Open(options.database));
  return Lister(options, reader, context).List();
}

struct ShowOptions {
  std::string database;
  std::string id;
  bool jsonl = false;
  OutputFormat format = OutputFormat::kText;
};

// NOT_FOUND that says why a record is not there, or no error if it never was.
Status SayIfDropped(const ShowOptions& options) {
  const StatusOr<std::string> uid = FindDropped(options.database, options.id);
  if (!uid.ok()) return OkStatus();
  DM_ASSIGN_OR_RETURN(const Tombstone tombstone, ReadTombstone(options.database, *uid));
  return NotFoundError(fmt::format("{}: {} was dropped on {}: {}", options.database, *uid,
                                   tombstone.date, tombstone.reason));
}

Status Show(const ShowOptions& options, CommandContext& context) {
  DM_ASSIGN_OR_RETURN(HistoryReader reader, HistoryReader::Open(options.database));
  const StatusOr<std::string> found = reader.FindId(options.id);
  if (found.status().code() == StatusCode::kNotFound) DM_RETURN_IF_ERROR(SayIfDropped(options));
  DM_ASSIGN_OR_RETURN(const std::string uid, found);
  DM_ASSIGN_OR_RETURN(const HistoryRecord record, reader.Record(uid));
  DM_ASSIGN_OR_RETURN(const RecordText written, RecordToJsonl(record));
  if (options.jsonl) {
    context.out << written.text;
  } else if (options.format == OutputFormat::kJson) {
    PrintJson(context.out, JsonOfLines(written.text));
  } else {
    context.out << ShowText(uid, record);
  }
  return OkStatus();
}

}  // namespace

void AddListCommand(CLI::App& history, CommandContext& context) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* const command = history.add_subcommand("list", "List what is there, newest first");
  AddDatabaseOption(*command, options->database);
  command->add_option("--what", options->what, "What to list")
      ->transform(OneOf<What>({{"runs", What::kRuns},
                               {"gates", What::kGates},
                               {"series", What::kSeries},
                               {"environments", What::kEnvironments},
                               {"dropped", What::kDropped}}))
      ->default_str("runs");
  RunFilter& filter = options->filter;
  command->add_option("--limit", filter.limit, "How many at most; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--arch", filter.architecture, "Only runs and series on it, as sm_90");
  command->add_option("--program", filter.program, "Only runs of it, as draft_benchmark");
  command->add_option("--session", filter.session, "Only runs of this session");
  command->add_option("--night", filter.night, "Only runs of this night, as 2026-11-30");
  command->add_option("--commit", filter.commit, "Only runs of this commit, or how it begins");
  AddFormatOption(*command, options->format);
  OnCall(*command, context, [options, &context] { return List(*options, context); });
}

void AddShowCommand(CLI::App& history, CommandContext& context) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* const command = history.add_subcommand("show", "Show one record");
  AddDatabaseOption(*command, options->database);
  command->add_option("ID", options->id, "Its id, or the first 4 digits or more")->required();
  command->add_flag("--jsonl", options->jsonl, "Print the lines of its file");
  AddFormatOption(*command, options->format);
  OnCall(*command, context, [options, &context] { return Show(*options, context); });
}

}  // namespace draftmark
