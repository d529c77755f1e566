#include "tools/commands/verify/verify_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace draftmark {
namespace {

// Erases the progress line of a terminal.
constexpr std::string_view kEraseLine = "\r\033[K";
constexpr char kSkip[] = "SKIP";

OrderedJson ExpectationJson(const Expectation& entry) {
  OrderedJson json;
  json["case"] = entry.case_pattern;
  json["kind"] = ExpectationKindName(entry.kind);
  json["reason"] = entry.reason;
  json["owner"] = entry.owner;
  json["link"] = entry.link;
  json["expires"] = entry.ExpiresText();
  json["signature"] = entry.signature;
  return json;
}

OrderedJson Skipped(OrderedJson json) {
  json["outcome"] = kSkip;
  json["expectation"] = nullptr;
  return json;
}

// "op/rms_norm" of "op/rms_norm/rows=1,h=1/bf16".
std::string SubjectOf(const std::string& id) { return id.substr(0, id.find('/', 3)); }

OrderedJson WithOutcome(OrderedJson json, const Verdict& verdict) {
  json["outcome"] = OutcomeName(verdict.outcome);
  json["expectation"] = nullptr;
  if (verdict.expectation != nullptr) json["expectation"] = ExpectationJson(*verdict.expectation);
  return json;
}

}  // namespace

void VerifyReport::NameDevice(const std::string& device) {
  device_ = device;
  Print(fmt::format("device {}\n", device));
}

void VerifyReport::NamePlugin(const std::string& path, const plugin::PluginFacts& facts) {
  plugin_ = {{"path", path},
             {"name", facts.name},
             {"version", facts.version},
             {"device", facts.kind},
             {"operations", facts.operations},
             {"sessions", facts.has_sessions}};
  Print(fmt::format("plug-in {}: {}\n", path, facts.description));
}

void VerifyReport::Progress(const std::string& text) {
  if (format_ == OutputFormat::kText && context_.out_is_terminal) {
    context_.out << kEraseLine << text << std::flush;
  }
}

void VerifyReport::Print(const std::string& text) {
  if (format_ != OutputFormat::kText) return;
  if (context_.out_is_terminal) context_.out << kEraseLine;
  context_.out << text << std::flush;
}

void VerifyReport::AddGroup(const std::string& suite, const std::string& subject,
                            std::size_t checks, const std::vector<std::string>& failures) {
  // Several failures may belong to one check (a row with two wrong sizes).
  const std::size_t failed = std::min(checks, failures.size());
  failed_ += failed;
  passed_ += checks - failed;
  std::string text =
      fmt::format("{} {}/{}: {} checks, {} failed\n", failures.empty() ? "PASS" : "FAIL", suite,
                  subject, checks, failed);
  for (const std::string& failure : failures) text += fmt::format("  {}\n", failure);
  Print(text);
  OrderedJson group;
  group["suite"] = suite;
  group["subject"] = subject;
  group["checks"] = checks;
  group["failed"] = failed;
  group["failures"] = failures;
  groups_.push_back(std::move(group));
}

Verdict VerifyReport::Judge(const CaseRun& run, const std::string& details,
                            const Expectations& expectations, std::string& text) {
  runs_.push_back(run);
  const Verdict verdict = expectations.Judge(run, context_.clock);
  if (IsFailure(verdict.outcome)) {
    ++failed_;
  } else {
    ++(verdict.outcome == Outcome::kPass ? passed_ : expected_failures_);
  }
  text = expectations.OutcomeLine(run, verdict);
  // Details of what is as it should be, or passes, would only hide the line.
  const bool line_is_enough =
      verdict.outcome == Outcome::kExpectedFailure || verdict.outcome == Outcome::kUnexpectedPass;
  if (!line_is_enough) text += details;
  return verdict;
}

void VerifyReport::AddDraft(const CaseReport& report, const Expectations& expectations) {
  if (report.no_result.unsupported()) {
    ++skipped_;
    Print(ReportText(report));
    if (format_ == OutputFormat::kJson) drafts_.push_back(Skipped(ReportJson(report)));
    return;
  }
  std::string text;
  const Verdict verdict =
      Judge({report.id, report.precision, report.backend, report.Signature(), report.scratch},
            ReportText(report), expectations, text);
  Print(text);
  if (format_ == OutputFormat::kJson) drafts_.push_back(WithOutcome(ReportJson(report), verdict));
}

void VerifyReport::AddOperation(std::span<const OperationReport> reports,
                                const Expectations& expectations) {
  std::size_t passed = 0;
  const OperationReport* tightest = nullptr;
  std::string lines;
  std::map<std::string, std::vector<const OperationReport*>> unsupported;  // by reason
  for (const OperationReport& report : reports) {
    if (report.no_result.unsupported()) {
      ++skipped_;
      unsupported[report.no_result.reason].push_back(&report);
      if (format_ == OutputFormat::kJson) operations_.push_back(Skipped(ReportJson(report)));
      continue;
    }
    std::string text;
    const Verdict verdict = Judge({report.id, report.precision, report.backend, report.Signature()},
                                  ReportText(report), expectations, text);
    if (format_ == OutputFormat::kJson) {
      operations_.push_back(WithOutcome(ReportJson(report), verdict));
    }
    if (verdict.outcome != Outcome::kPass) {
      lines += text;
      continue;
    }
    ++passed;
    if (tightest == nullptr || report.UsedShare() > tightest->UsedShare()) tightest = &report;
  }
  if (passed == 1) lines = ReportText(*tightest) + lines;
  if (passed > 1) {
    lines = fmt::format("PASS {}: {} cases {} {}, closest to its bound {}: {:.3g}\n",
                        SubjectOf(tightest->id), passed, tightest->backend,
                        PrecisionName(tightest->precision), tightest->id, tightest->UsedShare()) +
            lines;
  }
  for (const auto& [reason, skipped] : unsupported) {
    const OperationReport& first = *skipped.front();
    lines += skipped.size() == 1 ? ReportText(first)
                                 : fmt::format("{} {}: {} cases {} {}: unsupported: {}\n", kSkip,
                                               SubjectOf(first.id), skipped.size(), first.backend,
                                               PrecisionName(first.precision), reason);
  }
  Print(lines);
}

void VerifyReport::CheckNoneIsStale(const Expectations& expectations) {
  // A case that could not run may be the one that an entry is about.
  if (!errors_.empty()) return;
  std::vector<CaseRun> runs = runs_;
  for (const std::string& id : others_) {
    if (runs_.empty()) break;  // then there is nothing whose precision and backend they share
    runs.push_back(runs_.front());
    runs.back().id = id;
  }
  if (const Status status = expectations.CheckNoneIsStale(runs); !status.ok()) AddError(status);
}

void VerifyReport::CheckSomethingWasJudged() {
  if (skipped_ == 0 || passed_ + failed_ + expected_failures_ > 0 || !errors_.empty()) return;
  AddError(FailedPreconditionError(
      fmt::format("nothing was checked: each of the {} cases is unsupported", skipped_)));
}

void VerifyReport::AddError(const Status& status) {
  if (context_.out_is_terminal) Print("");
  context_.Fail(status);
  errors_.push_back(status.message());
}

void VerifyReport::Finish() {
  if (format_ == OutputFormat::kText) {
    std::string totals = fmt::format("{} checks passed, {} failed", passed_, failed_);
    if (expected_failures_ > 0) totals += fmt::format(", {} expected failures", expected_failures_);
    if (skipped_ > 0) totals += fmt::format(", {} skipped", skipped_);
    Print(totals + "\n");
  } else {
    OrderedJson json;
    if (!device_.empty()) json["device"] = device_;
    if (!plugin_.is_null()) json["plugin"] = plugin_;
    json["passed"] = passed_;
    json["failed"] = failed_;
    json["expected_failures"] = expected_failures_;
    if (skipped_ > 0) json["skipped"] = skipped_;
    json["errors"] = std::move(errors_);
    json["groups"] = std::move(groups_);
    json["operations"] = std::move(operations_);
    json["drafts"] = std::move(drafts_);
    PrintJson(context_.out, json);
  }
  if (failed_ > 0 && context_.exit_code == kExitGood) context_.exit_code = kExitMismatch;
}

}  // namespace draftmark
