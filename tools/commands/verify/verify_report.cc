#include "tools/commands/verify/verify_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace draftmark {
namespace {

// Erases the progress line of a terminal.
constexpr std::string_view kEraseLine = "\r\033[K";

}  // namespace

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

void VerifyReport::AddDraft(const CaseReport& report) {
  ++(report.FirstFailure() == nullptr ? passed_ : failed_);
  Print(ReportText(report));
  if (format_ == OutputFormat::kJson) drafts_.push_back(ReportJson(report));
}

void VerifyReport::AddError(const Status& status) {
  if (context_.out_is_terminal) Print("");
  context_.Fail(status);
  errors_.push_back(status.message());
}

void VerifyReport::Finish() {
  if (format_ == OutputFormat::kText) {
    Print(fmt::format("{} checks passed, {} failed\n", passed_, failed_));
  } else {
    OrderedJson json;
    json["passed"] = passed_;
    json["failed"] = failed_;
    json["errors"] = std::move(errors_);
    json["groups"] = std::move(groups_);
    json["drafts"] = std::move(drafts_);
    PrintJson(context_.out, json);
  }
  if (failed_ > 0 && context_.exit_code == kExitGood) context_.exit_code = kExitMismatch;
}

}  // namespace draftmark
