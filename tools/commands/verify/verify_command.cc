#include "tools/commands/verify/verify_command.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/drafts/run_case.h"
#include "src/base/json.h"
#include "src/cases/drafter_case.h"
#include "tools/commands/verify/golden_directory.h"

namespace draftmark {
namespace {

struct VerifyOptions {
  std::vector<std::string> case_directories;
  std::string backend = "reference";
  std::string precision = "exact";
  std::string golden;
  OutputFormat format = OutputFormat::kText;
};

// Counts and prints results as they come, as lines or as one JSON document at the end.
class Reporter {
 public:
  Reporter(CommandContext& context, OutputFormat format) : context_(context), format_(format) {}

  // What is being done right now, on a terminal only; the next line replaces it.
  void Progress(const std::string& text) {
    if (format_ == OutputFormat::kText && context_.out_is_terminal) {
      context_.out << "\r\033[K" << text << std::flush;
    }
  }
  void Add(const CaseReport& report) {
    Count(report.FirstFailure() == nullptr);
    Print(ReportText(report));
    if (format_ == OutputFormat::kJson) cases_.push_back(ReportJson(report));
  }
  void Finish() {
    if (format_ == OutputFormat::kText) {
      Print(fmt::format("{} checks passed, {} failed\n", passed_, failed_));
    } else {
      OrderedJson json;
      json["passed"] = passed_;
      json["failed"] = failed_;
      json["drafts"] = cases_;
      context_.out << json.dump(2) << "\n";
    }
    if (failed_ > 0) context_.exit_code = kExitMismatch;
  }

 private:
  void Count(bool passed) { ++(passed ? passed_ : failed_); }
  void Print(const std::string& text) {
    if (format_ != OutputFormat::kText) return;
    if (context_.out_is_terminal) context_.out << "\r\033[K";
    context_.out << text << std::flush;
  }

  CommandContext& context_;
  OutputFormat format_;
  std::size_t passed_ = 0;
  std::size_t failed_ = 0;
  OrderedJson cases_ = OrderedJson::array();
};

Status RunDraftCases(const std::vector<std::string>& directories, const VerifyOptions& options,
                     Reporter& reporter) {
  const Precision precision = options.precision == "bf16" ? Precision::kBf16 : Precision::kExact;
  for (std::size_t i = 0; i < directories.size(); ++i) {
    reporter.Progress(
        fmt::format("[{}/{}] {} {}", i + 1, directories.size(), directories[i], options.precision));
    DM_ASSIGN_OR_RETURN(const DrafterCase drafter_case, DrafterCase::Load(directories[i]));
    DM_ASSIGN_OR_RETURN(
        const CaseReport report,
        RunDrafterCase(drafter_case, precision, options.backend, OpenReferenceForCase));
    reporter.Add(report);
  }
  return OkStatus();
}

Status Verify(const VerifyOptions& options, Reporter& reporter) {
  if (!options.case_directories.empty()) {
    std::vector<std::string> directories;
    for (const std::string& path : options.case_directories) {
      std::vector<std::string> found = FindDrafterCases(path);
      // A folder without a case is loaded all the same: the loader says what is missing.
      if (found.empty()) found.push_back(path);
      directories.insert(directories.end(), found.begin(), found.end());
    }
    return RunDraftCases(directories, options, reporter);
  }
  std::string golden = options.golden;
  if (golden.empty()) {
    DM_ASSIGN_OR_RETURN(golden, FindGoldenDirectory());
  }
  const std::vector<std::string> directories = FindDrafterCases(JoinPath(golden, "drafter"));
  if (directories.empty()) {
    return NotFoundError(fmt::format("{}: holds no drafter case", JoinPath(golden, "drafter")));
  }
  return RunDraftCases(directories, options, reporter);
}

}  // namespace

void AddVerifyCommand(CLI::App& app, CommandContext& context) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* const command = app.add_subcommand(
      "verify", "Run oracle cases stage by stage and name the first stage that is off");
  command->add_option(
      "CASE_DIR", options->case_directories,
      "Case folders, or folders that hold some; without any, everything in golden/");
  command->add_option("--backend", options->backend, "Who computes")
      ->check(CLI::IsMember({"reference"}))
      ->capture_default_str();
  command
      ->add_option("--precision", options->precision,
                   "exact: float64; bf16: rounded at the normative points")
      ->check(CLI::IsMember({"exact", "bf16"}))
      ->capture_default_str();
  command->add_option("--golden", options->golden, "Golden folder, if not that of the checkout");
  AddFormatOption(*command, options->format);
  command->callback([options, &context] {
    Reporter reporter(context, options->format);
    if (const Status status = Verify(*options, reporter); !status.ok()) {
      context.Fail(status);
      return;
    }
    reporter.Finish();
  });
}

}  // namespace draftmark
