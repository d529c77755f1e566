#include "tools/commands/bench/roofline_json.h"

namespace draftmark {
namespace {

template <typename T>
OrderedJson OrNull(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson MustOrNull(const LinearGoal& goal) {
  return goal.must > 0 ? OrderedJson(goal.must) : OrderedJson(nullptr);
}

OrderedJson ErrorOrNull(const Status& status) {
  return status.ok() ? OrderedJson(nullptr) : OrderedJson(status.message());
}

const char* Outcome(bool met) { return met ? "PASS" : "FAIL"; }

template <typename T>
OrderedJson PathOrNull(const std::optional<ByPath<T>>& times) {
  return times ? OrderedJson(times->fast ? "fast" : "simple") : OrderedJson(nullptr);
}

OrderedJson RunsJson(const TimedRuns& runs) {
  return {{"median_ms", runs.median_ms},
          {"min_ms", runs.min_ms},
          {"p90_ms", runs.p90_ms},
          {"queued_ms", runs.queued_ms}};
}

OrderedJson BaselineJson(const std::optional<BaselineTimes>& times) {
  if (!times) return nullptr;
  OrderedJson columns = OrderedJson::object();
  for (const BaselineColumn& column : times->columns) {
    columns[column.name] =
        column.milliseconds > 0 ? OrderedJson(column.milliseconds) : OrderedJson(nullptr);
  }
  return {{"torch", times->torch},
          {"best", times->best().name},
          {"best_ms", times->best().milliseconds},
          {"columns", std::move(columns)}};
}

OrderedJson WorkJson(const WorkResult& work) {
  OrderedJson json = {{"id", work.id},
                      {"outcome", Outcome(work.must_met())},
                      {"must", work.must},
                      {"aim", work.aim},
                      {"floor_bytes", work.floor_bytes},
                      {"unique_bytes", work.unique_bytes},
                      {"second_read_bytes", work.second_read_bytes},
                      {"floor_ms", work.floor_ms},
                      {"path", PathOrNull(work.times)},
                      {"fast", nullptr},
                      {"simple", nullptr},
                      {"ratio", nullptr}};
  if (work.times) {
    if (work.times->fast) json["fast"] = RunsJson(*work.times->fast);
    json["simple"] = RunsJson(work.times->simple);
    json["ratio"] = work.ratio();
  }
  json["must_met"] = work.must_met();
  json["aim_met"] = work.aim_met();
  json["baseline"] = BaselineJson(work.baseline);
  json["factor"] = OrNull(work.factor());
  json["error"] = ErrorOrNull(work.status);
  return json;
}

OrderedJson LinearJson(const LinearResult& result) {
  const LinearShape& shape = result.line.shape;
  OrderedJson json = {{"id", result.line.id()},
                      {"outcome", Outcome(result.must_met())},
                      {"n", shape.n},
                      {"k", shape.k},
                      {"m", result.line.rows},
                      {"bytes", shape.bytes()},
                      {"used_as", shape.used_as},
                      {"class", result.goal.name},
                      {"must", MustOrNull(result.goal)},
                      {"aim", result.goal.aim},
                      {"path", PathOrNull(result.seconds)},
                      {"us", nullptr},
                      {"share", nullptr},
                      {"simple_us", nullptr},
                      {"simple_share", nullptr}};
  if (result.seconds) {
    json["us"] = result.seconds->taken() * 1e6;
    json["share"] = result.share.taken();
    json["simple_us"] = result.seconds->simple * 1e6;
    json["simple_share"] = result.share.simple;
  }
  json["must_met"] = result.must_met();
  json["aim_met"] = result.aim_met();
  json["error"] = ErrorOrNull(result.status);
  return json;
}

OrderedJson SummaryJson(const LinearSummary& summary) {
  return {{"class", summary.goal.name},   {"must", MustOrNull(summary.goal)},
          {"aim", summary.goal.aim},      {"worst", summary.worst},
          {"worst_id", summary.worst_id}, {"mean", summary.mean},
          {"must_met", summary.must_met}, {"aim_met", summary.aim_met}};
}

template <typename T, typename Convert>
OrderedJson ListOf(const std::vector<T>& values, const Convert& convert) {
  OrderedJson list = OrderedJson::array();
  for (const T& value : values) list.push_back(convert(value));
  return list;
}

}  // namespace

OrderedJson RooflineJson(const RooflineReport& report) {
  const MachineFacts& facts = report.facts;
  return {{"schema_version", 1},
          {"command", "draftmark bench roofline"},
          {"passed", report.passed()},
          {"failed", report.failed()},
          {"gpu", facts.gpu},
          {"driver", facts.driver},
          {"cuda", facts.cuda},
          {"cublaslt", facts.cublaslt},
          {"commit", report.commit},
          {"date", report.date},
          {"runs", report.runs},
          {"copy_bytes_per_second", facts.copy_bytes_per_second},
          {"theoretical_bytes_per_second", OrNull(facts.theoretical_bytes_per_second)},
          {"works", ListOf(report.works, WorkJson)},
          {"linear", ListOf(report.linear, LinearJson)},
          {"linear_classes", ListOf(Summarise(report.linear), SummaryJson)},
          {"baseline_notes", OrderedJson(report.baseline_notes)}};
}

}  // namespace draftmark
