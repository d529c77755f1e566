#include "tools/commands/verify/verify_command.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "conformance/drafts/run_case.h"
#include "conformance/expectations/expectations.h"
#include "conformance/operations/check_operation.h"
#include "src/base/file_system.h"
#include "src/cases/drafter_case.h"
#include "src/operations/registry.h"
#include "tools/commands/verify/checkout.h"
#include "tools/commands/verify/golden_suites.h"
#include "tools/commands/verify/verify_report.h"

namespace draftmark {
namespace {

// The architecture of the reference backend.
constexpr const char* kReferenceArch = "cpu";

struct VerifyOptions {
  std::vector<std::string> cases;  // ids of operations, names of folders
  std::string backend = "reference";
  std::string precision = "exact";
  std::string golden;
  std::string expectations;  // a file
  std::string arch;          // empty: the backend's own
  OutputFormat format = OutputFormat::kText;
};

Precision PrecisionOf(const VerifyOptions& options) {
  return options.precision == "bf16" ? Precision::kBf16 : Precision::kExact;
}

StatusOr<CaseReport> RunOne(const std::string& directory, const VerifyOptions& options) {
  DM_ASSIGN_OR_RETURN(const DrafterCase drafter_case, DrafterCase::Load(directory));
  return RunDrafterCase(drafter_case, PrecisionOf(options), kReferenceBackend,
                        OpenReferenceForCase);
}

void RunOperationCases(std::span<const OperationCase> cases, const VerifyOptions& options,
                       const Expectations& expectations, VerifyReport& report) {
  std::vector<OperationReport> reports;
  for (const OperationCase& c : cases) {
    report.Progress(c.Id());
    StatusOr<OperationReport> result = CheckReference(c, PrecisionOf(options));
    if (result.ok()) {
      reports.push_back(*std::move(result));
    } else {
      report.AddError(result.status());
    }
  }
  report.AddOperation(reports, expectations);
}

StatusOr<Expectations> LoadExpectations(const VerifyOptions& options) {
  if (!options.expectations.empty()) return Expectations::Load(options.expectations);
  const std::string arch = options.arch.empty() ? kReferenceArch : options.arch;
  if (const std::optional<std::string> found = FindExpectationsFile(arch)) {
    return Expectations::Load(*found);
  }
  // Outside a checkout nothing is expected to fail, unless somebody asked for what is not there.
  if (options.arch.empty()) return Expectations();
  return NotFoundError(
      fmt::format("no conformance/expectations/{}.toml found: run inside a checkout, or name the "
                  "file with --expectations FILE",
                  arch));
}

void RunDraftCases(const std::vector<std::string>& directories, const VerifyOptions& options,
                   const Expectations& expectations, VerifyReport& report) {
  for (std::size_t i = 0; i < directories.size(); ++i) {
    report.Progress(
        fmt::format("[{}/{}] {} {}", i + 1, directories.size(), directories[i], options.precision));
    const StatusOr<CaseReport> result = RunOne(directories[i], options);
    if (result.ok()) {
      report.AddDraft(*result, expectations);
    } else {
      report.AddError(result.status());
    }
  }
}

// The cases that were named: ids of operations, folders of drafts.
void VerifyNamed(const VerifyOptions& options, const Expectations& expectations,
                 VerifyReport& report) {
  std::vector<std::string> directories;
  for (const std::string& name : options.cases) {
    if (name.starts_with("op/") && !RealFileSystem().IsDirectory(name)) {
      const StatusOr<OperationCase> c = FindCase(name);
      if (c.ok()) {
        RunOperationCases({&*c, 1}, options, expectations, report);
      } else {
        report.AddError(c.status());
      }
      continue;
    }
    std::vector<std::string> found = FindDrafterCases(name);
    // A folder without a case is loaded all the same: the loader says what is missing.
    if (found.empty()) found.push_back(name);
    directories.insert(directories.end(), found.begin(), found.end());
  }
  RunDraftCases(directories, options, expectations, report);
}

Status VerifyGolden(const std::string& golden, const VerifyOptions& options,
                    const Expectations& expectations, VerifyReport& report) {
  DM_RETURN_IF_ERROR(RunGoldenSuites(golden, report));
  for (const Operation& operation : AllOperations()) {
    RunOperationCases(BoundaryCases(operation), options, expectations, report);
  }
  std::vector<std::string> directories;
  for (const char* const folder : {"drafter", "drafts"}) {
    const std::vector<std::string> found = FindDrafterCases(JoinPath(golden, folder));
    if (found.empty()) {
      return NotFoundError(fmt::format("{}: holds no drafter case", JoinPath(golden, folder)));
    }
    directories.insert(directories.end(), found.begin(), found.end());
  }
  RunDraftCases(directories, options, expectations, report);
  report.CheckNoneIsStale(expectations);
  return OkStatus();
}

Status Verify(const VerifyOptions& options, VerifyReport& report) {
  DM_ASSIGN_OR_RETURN(const Expectations expectations, LoadExpectations(options));
  if (!options.cases.empty()) {
    VerifyNamed(options, expectations, report);
    return OkStatus();
  }
  std::string golden = options.golden;
  if (golden.empty()) {
    DM_ASSIGN_OR_RETURN(golden, FindGoldenDirectory());
  }
  return VerifyGolden(golden, options, expectations, report);
}

}  // namespace

void AddVerifyCommand(CLI::App& app, CommandContext& context) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* const command = app.add_subcommand(
      "verify", "Check operations, and drafts stage by stage; name the first stage that is off");
  command->add_option("CASE", options->cases,
                      "Case folders, folders that hold some, or ids of operation cases "
                      "(op/...); without any, everything in golden/");
  command->add_option("--backend", options->backend, "Who computes")
      ->check(CLI::IsMember({"reference"}))
      ->capture_default_str();
  command
      ->add_option("--precision", options->precision,
                   "exact: float64; bf16: rounded at the normative points")
      ->check(CLI::IsMember({"exact", "bf16"}))
      ->capture_default_str();
  command->add_option("--golden", options->golden, "Golden folder, if not that of the checkout");
  CLI::Option* const file = command->add_option("--expectations", options->expectations,
                                                "File of known failures and waivers (TOML)");
  command
      ->add_option("--arch", options->arch,
                   "Or the checkout's conformance/expectations/NAME.toml; cpu for the reference")
      ->excludes(file)
      ->check([](const std::string& name) {
        constexpr const char* kCharacters = "abcdefghijklmnopqrstuvwxyz0123456789_";
        return name.empty() || name.find_first_not_of(kCharacters) != std::string::npos
                   ? std::string("must be a name such as cpu or sm_90")
                   : std::string();
      });
  AddFormatOption(*command, options->format);
  command->callback([options, &context] {
    VerifyReport report(context, options->format);
    if (const Status status = Verify(*options, report); !status.ok()) report.AddError(status);
    report.Finish();
  });
}

}  // namespace draftmark
