#include "tools/commands/fuzz/fuzz_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "conformance/cuda/cuda_backend.h"
#include "conformance/random/fuzz.h"
#include "src/base/file_system.h"
#include "tools/commands/u64_option.h"

namespace draftmark {
namespace {

struct Parsed {
  FuzzRun run;
  std::uint64_t tries = 400;
  std::string backend = "reference";
  std::string only;
};

// Every path that a draft can take. Version 1 and the path without a cache hold one sequence, and
// version 1 refuses gaps that its masks cannot see.
FuzzSubject CudaSubject(const std::shared_ptr<CudaBackend>& cuda) {
  FuzzSubject subject = {.name = kCudaBackend.name, .errors_are_final = true};
  subject.operations.push_back([cuda](const OperationCase& c) {
    return CheckOperation(c, Precision::kBf16, kCudaBackend.name, SumType::kFloat32,
                          cuda->Operations());
  });
  for (const CudaSessionKind& kind :
       {CudaSessionKind{}, CudaSessionKind{.fast = false}, CudaSessionKind{.scratch_version = 1},
        CudaSessionKind{.paged = false}}) {
    const bool alone = kind.scratch_version == 1 || !kind.paged;
    subject.drafts.push_back(
        [cuda, kind, alone](const DrafterCase& drafter_case) -> StatusOr<CaseReport> {
          // An empty report passes: what is never put to a path is not refused by it.
          if (alone && !drafter_case.neighbours().empty()) return CaseReport();
          return RunCudaDraft(*cuda, kind, drafter_case);
        });
  }
  return subject;
}

// The report with the folder's true name, indented.
std::string Indented(std::string report, const std::string& directory) {
  const std::string before = fmt::format("draftmark verify {} ", kFuzzCaseFolder);
  if (const std::size_t at = report.find(before); at != std::string::npos) {
    report.replace(at, before.size(), fmt::format("draftmark verify {} ", directory));
  }
  std::string text;
  std::size_t begin = 0;
  while (begin < report.size()) {
    const std::size_t end = std::min(report.find('\n', begin), report.size());
    text += "  " + report.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return text;
}

class Run {
 public:
  Run(const FuzzRun& run, CommandContext& context) : run_(run), context_(context) {}

  Status Go(const FuzzSubject& subject, const std::string& device) {
    DM_RETURN_IF_ERROR(CheckFolder());
    if (!device.empty()) {
      if (run_.format == OutputFormat::kText) context_.out << "device " << device << "\n";
      json_["device"] = device;
    }
    FuzzOptions options = run_.fuzz;
    const auto began = std::chrono::steady_clock::now();
    const auto elapsed = [began] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    };
    if (run_.seconds > 0) {
      options.out_of_time = [&] { return elapsed() >= static_cast<double>(run_.seconds); };
    }
    DM_ASSIGN_OR_RETURN(const FuzzReport report,
                        Fuzz(subject, options, [&](const auto& finding) { Show(finding); }));
    Finish(subject, options, report, elapsed());
    return written_;
  }

 private:
  // Before hours of cases: a folder, or a place where one can be made.
  Status CheckFolder() const {
    std::string folder = run_.out;
    while (!RealFileSystem().IsDirectory(folder)) {
      if (RealFileSystem().IsFile(folder) || std::filesystem::exists(folder)) {
        return InvalidArgumentError(fmt::format("--out {}: {} is no folder", run_.out, folder));
      }
      const std::string parent = std::filesystem::path(folder).parent_path().string();
      folder = parent.empty() || parent == folder ? "." : parent;
    }
    // Dropped again, since it is not committed.
    return RealFileSystem().CreateAtomic(JoinPath(folder, "probe")).status();
  }

  // A new folder, or one with this very case.
  std::string FolderFor(const FuzzFinding& finding) const {
    const std::string name =
        JoinPath(run_.out, fmt::format("seed{}-case{}", run_.fuzz.seed, finding.index));
    std::string folder = name;
    for (int n = 2; std::filesystem::exists(folder); ++n) {
      const StatusOr<std::string> config = ReadTextFile(JoinPath(folder, "config.json"));
      if (config.ok() && *config == finding.draft.dump(1) + "\n") break;
      folder = fmt::format("{}.{}", name, n);
    }
    return folder;
  }

  Status Write(const FuzzFinding& finding, const std::string& folder) const {
    const bool is_new = !std::filesystem::exists(folder);
    Status status = WriteFinding(finding, folder);
    // Half a case is none.
    std::error_code error;  // the overload that does not throw
    if (!status.ok() && is_new) std::filesystem::remove_all(folder, error);
    return status;
  }

  void Show(const FuzzFinding& finding) {
    Status written;
    std::string least = finding.operation;
    if (least.empty()) {
      least = FolderFor(finding);
      written = Write(finding, least);
      if (!written.ok() && written_.ok()) written_ = written;
    }
    if (run_.format == OutputFormat::kText) {
      context_.out << fmt::format("FOUND {}: {} (case {}, from {} in {} tries)\n", least,
                                  finding.signature, finding.index, finding.original,
                                  finding.shrink_tries)
                   << Indented(finding.report, least);
      if (!written.ok()) {
        context_.out << fmt::format("  not written: {}; its config.json:\n{}\n", written.message(),
                                    finding.draft.dump(1));
      }
      context_.out << std::flush;
    }
    json_["findings"].push_back({{"case", least},
                                 {"signature", finding.signature},
                                 {"index", finding.index},
                                 {"original", finding.original},
                                 {"tries", finding.shrink_tries},
                                 {"report", finding.report}});
    if (written.ok()) return;
    json_["findings"].back()["error"] = written.message();
    json_["findings"].back()["config"] = finding.draft;
  }

  void Finish(const FuzzSubject& subject, const FuzzOptions& options, const FuzzReport& report,
              double seconds) {
    if (!report.findings.empty()) context_.exit_code = kExitMismatch;
    if (run_.format == OutputFormat::kText) {
      context_.out << FuzzSummary(subject, options, report) << fmt::format(", {:.1f} s\n", seconds);
      return;
    }
    json_["backend"] = subject.name;
    json_["seed"] = options.seed;
    json_["cases"] = report.cases();
    json_["operations"] = report.operations;
    json_["histories"] = report.histories;
    json_["proposes"] = report.proposes;
    json_["refused"] = report.refused;
    json_["found"] = report.findings.size();
    json_["seconds"] = seconds;
    PrintJson(context_.out, json_);
  }

  const FuzzRun& run_;
  CommandContext& context_;
  OrderedJson json_ = {{"findings", OrderedJson::array()}};
  Status written_ = OkStatus();
};

// What the numbers of cases on the command line mean.
Status SetBudget(Parsed& parsed, bool by_seconds) {
  FuzzOptions& fuzz = parsed.run.fuzz;
  if (by_seconds && parsed.run.seconds == 0) {
    return InvalidArgumentError("--seconds: expected at least 1, found 0");
  }
  if (!by_seconds && fuzz.most_cases == 0) {
    return InvalidArgumentError("--cases: expected at least 1, found 0");
  }
  const std::uint64_t behind = UINT64_MAX - fuzz.first_case;
  if (by_seconds) fuzz.most_cases = behind;
  if (fuzz.most_cases > behind || fuzz.most_cases == 0) {
    return InvalidArgumentError(fmt::format("--first {}: the last case's number would exceed {}",
                                            fuzz.first_case, UINT64_MAX));
  }
  constexpr std::uint64_t kMostTries = 1'000'000;
  fuzz.most_shrink_tries = static_cast<int>(std::min(parsed.tries, kMostTries));
  if (parsed.only == "operations") fuzz.only = FuzzOnly::kOperations;
  if (parsed.only == "histories") fuzz.only = FuzzOnly::kHistories;
  return OkStatus();
}

Status RunOn(const Parsed& parsed, CommandContext& context) {
  if (parsed.backend != "cuda") return RunFuzz(ReferenceSubject(), "", parsed.run, context);
  DM_ASSIGN_OR_RETURN(std::unique_ptr<CudaBackend> opened, CudaBackend::Open());
  const std::shared_ptr<CudaBackend> cuda = std::move(opened);
  return RunFuzz(CudaSubject(cuda), cuda->device().Describe(), parsed.run, context);
}

}  // namespace

Status RunFuzz(const FuzzSubject& subject, const std::string& device, const FuzzRun& run,
               CommandContext& context) {
  return Run(run, context).Go(subject, device);
}

void AddFuzzCommand(CLI::App& app, CommandContext& context) {
  auto parsed = std::make_shared<Parsed>();
  CLI::App* const command = app.add_subcommand(
      "fuzz", "Draw cases of operations and drafts at random; make what fails small");
  AddU64Option(*command, "--seed", parsed->run.fuzz.seed, "The same seed draws the same cases (1)");
  AddU64Option(*command, "--first", parsed->run.fuzz.first_case,
               "Number of the first case, as a finding names it (0)");
  CLI::Option* const cases =
      AddU64Option(*command, "--cases", parsed->run.fuzz.most_cases, "How many (400)");
  CLI::Option* const seconds =
      AddU64Option(*command, "--seconds", parsed->run.seconds, "As many as begin in this time");
  seconds->excludes(cases);
  AddU64Option(*command, "--tries", parsed->tries,
               "How often one finding is tried smaller, beyond the budget (400)");
  command
      ->add_option(
          "--backend", parsed->backend,
          "Who computes: the reference on the CPU, in both precisions, or the CUDA kernels "
          "on the first GPU; both are compared with formulas written apart")
      ->check(CLI::IsMember({"reference", "cuda"}))
      ->capture_default_str();
  command->add_option("--only", parsed->only, "One kind of cases")
      ->check(CLI::IsMember({"operations", "histories"}));
  command
      ->add_option("--out", parsed->run.out,
                   "Folder for the case folders of what is found; made if something is")
      ->check([](const std::string& path) {
        return path.empty() ? std::string("must not be empty") : std::string();
      })
      ->capture_default_str();
  AddFormatOption(*command, parsed->run.format);
  command->callback([parsed, seconds, &context] {
    Status status = SetBudget(*parsed, seconds->count() > 0);
    if (status.ok()) status = RunOn(*parsed, context);
    if (!status.ok()) context.Fail(status);
  });
}

}  // namespace draftmark
