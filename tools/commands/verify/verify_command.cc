#include "tools/commands/verify/verify_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "conformance/drafts/run_case.h"
#include "conformance/expectations/expectations.h"
#include "conformance/golden/manifest.h"
#include "conformance/operations/check_operation.h"
#include "kernels/plugin/plugin_library.h"
#include "src/base/file_system.h"
#include "src/base/shard.h"
#include "src/cases/drafter_case.h"
#include "src/operations/registry.h"
#include "tools/commands/finite_range.h"
#include "tools/commands/verify/checkout.h"
#include "tools/commands/verify/golden_suites.h"
#include "tools/commands/verify/verify_backend.h"
#include "tools/commands/verify/verify_report.h"

namespace draftmark {
namespace {

// An empty variable of a shell is no wish for the default.
std::string IsNotEmpty(const std::string& path) {
  return path.empty() ? std::string("must not be empty") : std::string();
}

struct VerifyOptions {
  std::vector<std::string> cases;  // ids of operations, names of folders
  BackendOptions backend;
  std::string golden;
  std::string expectations;  // a file
  std::string arch;          // empty: the backend's own
  std::string shard;         // empty: everything
  OutputFormat format = OutputFormat::kText;
};

// One run: who computes, what is expected, which share of the cases, and where the results go.
struct VerifyRun {
  const VerifyBackend& backend;
  const Expectations& expectations;
  Shard& shard;
  VerifyReport& report;
};

void RunOperationCases(std::span<const OperationCase> cases, const VerifyRun& run) {
  std::vector<OperationReport> reports;
  for (const OperationCase& c : cases) {
    if (!run.shard.TakesNext()) {
      run.report.LeaveToOthers(c.Id());
      continue;
    }
    run.report.Progress(c.Id());
    StatusOr<OperationReport> result = run.backend.check_operation(c);
    if (result.ok()) {
      reports.push_back(*std::move(result));
    } else {
      run.report.AddError(result.status());
    }
  }
  run.report.AddOperation(reports, run.expectations);
}

StatusOr<Expectations> LoadExpectations(const VerifyOptions& options,
                                        const std::string& default_arch) {
  if (!options.expectations.empty()) return Expectations::Load(options.expectations);
  const std::string arch = options.arch.empty() ? default_arch : options.arch;
  // What is known of our kernels excuses no plug-in.
  if (arch.empty()) return Expectations();
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

void RunDraftCases(const std::vector<std::string>& directories, const VerifyRun& run) {
  for (std::size_t i = 0; i < directories.size(); ++i) {
    const bool mine = run.shard.TakesNext();
    if (!mine && run.expectations.entries().empty()) continue;
    run.report.Progress(fmt::format("[{}/{}] {} {}", i + 1, directories.size(), directories[i],
                                    PrecisionName(run.backend.precision)));
    const StatusOr<DrafterCase> drafter_case = DrafterCase::Load(directories[i]);
    if (!drafter_case.ok()) {
      if (mine) run.report.AddError(drafter_case.status());
      continue;
    }
    if (!mine) {
      run.report.LeaveToOthers(drafter_case->id().ToString());
      continue;
    }
    for (const auto& run_draft : run.backend.run_draft) {
      const StatusOr<CaseReport> result = run_draft(*drafter_case);
      if (result.ok()) {
        run.report.AddDraft(*result, run.expectations);
      } else {
        run.report.AddError(result.status());
      }
    }
  }
}

// The cases that were named: ids of operations, folders of drafts.
void VerifyNamed(const std::vector<std::string>& cases, const VerifyRun& run) {
  std::vector<std::string> directories;
  for (const std::string& name : cases) {
    const Operation* const whole =
        name.starts_with("op/") ? FindOperation(std::string_view(name).substr(3)) : nullptr;
    if (whole != nullptr) {
      RunOperationCases(BoundaryCases(*whole), run);
      continue;
    }
    if (name.starts_with("op/") && !RealFileSystem().IsDirectory(name)) {
      const StatusOr<OperationCase> c = FindCase(name);
      if (c.ok()) {
        RunOperationCases({&*c, 1}, run);
      } else {
        run.report.AddError(c.status());
      }
      continue;
    }
    std::vector<std::string> found = FindDrafterCases(name);
    // A folder without a case is loaded all the same: the loader says what is missing.
    if (found.empty()) found.push_back(name);
    directories.insert(directories.end(), found.begin(), found.end());
  }
  RunDraftCases(directories, run);
}

// A file that is not there is a case that nobody runs: each is an error. The folders of missing
// files, in which no case can be run.
std::vector<std::string> CompareWithItsManifest(const std::string& golden, VerifyReport& report) {
  std::vector<std::string> incomplete;
  const StatusOr<ManifestDifference> difference = CompareWithManifest(golden);
  if (!difference.ok()) {
    report.AddError(difference.status());
    return incomplete;
  }
  for (const std::string& file : difference->missing) {
    const std::string path = JoinPath(golden, file);
    report.AddError(NotFoundError(fmt::format("{}: not there; {} lists it", path, kManifestName)));
    incomplete.push_back(path.substr(0, path.rfind('/')));
  }
  for (const std::string& file : difference->unlisted) {
    report.AddError(FailedPreconditionError(
        fmt::format("{}: not listed in {}; draftmark golden regen adds what belongs there",
                    JoinPath(golden, file), kManifestName)));
  }
  return incomplete;
}

void RunAllOperations(const VerifyRun& run) {
  for (const Operation& operation : AllOperations()) {
    RunOperationCases(BoundaryCases(operation), run);
  }
}

Status RunGoldenDrafts(const std::string& golden, const std::vector<std::string>& incomplete,
                       const VerifyRun& run) {
  std::vector<std::string> directories;
  for (const char* const folder : {"drafter", "drafts"}) {
    const std::vector<std::string> found = FindDrafterCases(JoinPath(golden, folder));
    if (found.empty()) {
      return NotFoundError(fmt::format("{}: holds no drafter case", JoinPath(golden, folder)));
    }
    for (const std::string& directory : found) {
      // Its error stands there already.
      if (std::count(incomplete.begin(), incomplete.end(), directory) > 0) continue;
      directories.push_back(directory);
    }
  }
  RunDraftCases(directories, run);
  return OkStatus();
}

Status VerifyGolden(const std::string& golden, const VerifyRun& run) {
  const std::vector<std::string> incomplete = CompareWithItsManifest(golden, run.report);
  DM_RETURN_IF_ERROR(RunGoldenSuites(golden, run.shard, run.report));
  RunAllOperations(run);
  DM_RETURN_IF_ERROR(RunGoldenDrafts(golden, incomplete, run));
  run.report.CheckNoneIsStale(run.expectations);
  return OkStatus();
}

StatusOr<std::string> GoldenOf(const VerifyOptions& options) {
  if (!options.golden.empty()) return options.golden;
  return FindGoldenDirectory();
}

// What a plug-in has no part in is left out, so that every count is about it; without sessions it needs
// no golden folder.
Status VerifyPlugin(const VerifyOptions& options, const VerifyRun& run) {
  RunAllOperations(run);
  if (run.backend.plugin->has_sessions) {
    DM_ASSIGN_OR_RETURN(const std::string golden, GoldenOf(options));
    DM_RETURN_IF_ERROR(RunGoldenDrafts(golden, CompareWithItsManifest(golden, run.report), run));
  }
  run.report.CheckNoneIsStale(run.expectations);
  return OkStatus();
}

Status Verify(const VerifyOptions& options, VerifyReport& report) {
  DM_ASSIGN_OR_RETURN(const VerifyBackend backend, OpenVerifyBackend(options.backend));
  DM_ASSIGN_OR_RETURN(const Expectations expectations, LoadExpectations(options, backend.arch));
  Shard shard;
  if (!options.shard.empty()) {
    DM_ASSIGN_OR_RETURN(shard, Shard::Parse(options.shard));
  }
  if (!backend.device.empty()) report.NameDevice(backend.device);
  if (backend.plugin) report.NamePlugin(options.backend.name, *backend.plugin);
  const VerifyRun run = {backend, expectations, shard, report};
  if (!options.cases.empty()) {
    VerifyNamed(options.cases, run);
  } else if (backend.plugin) {
    DM_RETURN_IF_ERROR(VerifyPlugin(options, run));
  } else {
    DM_ASSIGN_OR_RETURN(const std::string golden, GoldenOf(options));
    DM_RETURN_IF_ERROR(VerifyGolden(golden, run));
  }
  if (backend.other_failures) {
    if (const std::vector<std::string> failures = backend.other_failures(); !failures.empty()) {
      report.AddGroup("plug-in", "processes", failures.size(), failures);
    }
  }
  if (shard.takes_everything()) report.CheckSomethingWasJudged();
  return OkStatus();
}

std::string IsBackend(const std::string& name) {
  if (name == "reference" || name == "cuda" || plugin::IsPluginPath(name)) return "";
  return "must be reference, cuda, or the path of a plug-in (it holds a / or ends with .so)";
}

}  // namespace

void AddVerifyCommand(CLI::App& app, CommandContext& context) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* const command = app.add_subcommand(
      "verify", "Check operations, and drafts stage by stage; name the first stage that is off");
  command->add_option(
      "CASE", options->cases,
      "Case folders, folders that hold some, operations (op/rms_norm), or ids of "
      "their cases (op/rms_norm/rows=1,h=8/bf16); without any, everything in golden/");
  command
      ->add_option(
          "--backend", options->backend.name,
          "Who computes: the reference on the CPU, the CUDA kernels on the first GPU, or a "
          "plug-in (./libmine.so)")
      ->check(IsBackend)
      ->capture_default_str();
  command
      ->add_option("--precision", options->backend.precision,
                   "exact: float64; bf16: rounded at the normative points. Default: exact, and "
                   "bf16 with --backend cuda, which has no other")
      ->check(CLI::IsMember({"exact", "bf16"}));
  command
      ->add_option("--scratch", options->backend.scratch,
                   "With --backend cuda, what drafts run in: scratch v1 or v2, contiguous (v2 "
                   "without a cache), or all three in turn. Default: v2")
      ->check(CLI::IsMember({"v1", "v2", "contiguous", "all"}));
  command
      ->add_option(
          "--path", options->backend.path,
          "With --backend cuda: simple, one kernel for each step on every device, or fast, "
          "kernels for the device where they fit. Default: fast")
      ->check(CLI::IsMember({"simple", "fast"}));
  command
      ->add_option("--time-limit", options->backend.time_limit,
                   "With a plug-in, the seconds that one call may take, and loading it if that is "
                   "more than 10. Default: 60")
      ->check(FiniteRange(0.01, 86400.0));
  command->add_option("--shard", options->shard,
                      "Only this share of the cases, as I/N: the I-th of N processes that share "
                      "the work; or bazel, as in a test with shard_count");
  command->add_option("--golden", options->golden, "Golden folder, if not that of the checkout")
      ->check(IsNotEmpty);
  CLI::Option* const file = command
                                ->add_option("--expectations", options->expectations,
                                             "File of known failures and waivers (TOML)")
                                ->check(IsNotEmpty);
  command
      ->add_option("--arch", options->arch,
                   "Or the checkout's conformance/expectations/NAME.toml. Default: cpu for the "
                   "reference, else the device's, such as sm_90")
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
