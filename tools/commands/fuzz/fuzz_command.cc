#include "tools/commands/fuzz/fuzz_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "conformance/cuda/cuda_backend.h"
#include "conformance/random/fuzz.h"
#include "src/base/file_system.h"
#include "tools/commands/u64_option.h"

namespace draftmark {
namespace {

struct Parsed {
  FuzzOptions fuzz;
  std::uint64_t seconds = 0;
  std::uint64_t tries = 400;
  std::string backend = "reference";
  std::string only;
  std::string out = "fuzz-findings";
  OutputFormat format = OutputFormat::kText;
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
  Run(const Parsed& parsed, CommandContext& context) : parsed_(parsed), context_(context) {}

  Status Go() {
    FuzzSubject subject = ReferenceSubject();
    if (parsed_.backend == "cuda") {
      DM_ASSIGN_OR_RETURN(std::unique_ptr<CudaBackend> opened, CudaBackend::Open());
      const std::shared_ptr<CudaBackend> cuda = std::move(opened);
      if (parsed_.format == OutputFormat::kText) {
        context_.out << "device " << cuda->device().Describe() << "\n";
      }
      json_["device"] = cuda->device().Describe();
      subject = CudaSubject(cuda);
    }
    FuzzOptions options = parsed_.fuzz;
    const auto began = std::chrono::steady_clock::now();
    const auto elapsed = [began] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    };
    if (parsed_.seconds > 0) {
      options.out_of_time = [&] { return elapsed() >= static_cast<double>(parsed_.seconds); };
    }
    DM_ASSIGN_OR_RETURN(const FuzzReport report,
                        Fuzz(subject, options, [&](const auto& finding) { Show(finding); }));
    DM_RETURN_IF_ERROR(written_);
    Finish(subject, options, report, elapsed());
    return OkStatus();
  }

 private:
  void Show(const FuzzFinding& finding) {
    std::string directory;
    if (finding.operation.empty()) {
      directory =
          JoinPath(parsed_.out, fmt::format("seed{}-case{}", parsed_.fuzz.seed, finding.index));
      const Status status = WriteFinding(finding, directory);
      if (!status.ok() && written_.ok()) written_ = status;
    }
    const std::string& least = finding.operation.empty() ? directory : finding.operation;
    if (parsed_.format == OutputFormat::kText) {
      context_.out << fmt::format("FOUND {}: {} (case {}, from {} in {} tries)\n", least,
                                  finding.signature, finding.index, finding.original,
                                  finding.shrink_tries)
                   << Indented(finding.report, directory) << std::flush;
    }
    json_["findings"].push_back({{"case", least},
                                 {"signature", finding.signature},
                                 {"index", finding.index},
                                 {"original", finding.original},
                                 {"tries", finding.shrink_tries},
                                 {"report", finding.report}});
  }

  void Finish(const FuzzSubject& subject, const FuzzOptions& options, const FuzzReport& report,
              double seconds) {
    if (!report.findings.empty()) context_.exit_code = kExitMismatch;
    if (parsed_.format == OutputFormat::kText) {
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

  const Parsed& parsed_;
  CommandContext& context_;
  OrderedJson json_ = {{"findings", OrderedJson::array()}};
  Status written_ = OkStatus();
};

}  // namespace

void AddFuzzCommand(CLI::App& app, CommandContext& context) {
  auto parsed = std::make_shared<Parsed>();
  CLI::App* const command = app.add_subcommand(
      "fuzz", "Draw cases of operations and drafts at random; make what fails small");
  AddU64Option(*command, "--seed", parsed->fuzz.seed, "The same seed draws the same cases (1)");
  AddU64Option(*command, "--first", parsed->fuzz.first_case,
               "Number of the first case, as a finding names it (0)");
  CLI::Option* const cases =
      AddU64Option(*command, "--cases", parsed->fuzz.most_cases, "How many (400)");
  CLI::Option* const seconds =
      AddU64Option(*command, "--seconds", parsed->seconds, "As many as begin in this time");
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
      ->add_option("--out", parsed->out,
                   "Folder for the case folders of what is found; made if something is")
      ->check([](const std::string& path) {
        return path.empty() ? std::string("must not be empty") : std::string();
      })
      ->capture_default_str();
  AddFormatOption(*command, parsed->format);
  command->callback([parsed, seconds, &context] {
    if (seconds->count() > 0) {
      if (parsed->seconds == 0) {
        return context.Fail(InvalidArgumentError("--seconds: expected at least 1, found 0"));
      }
      parsed->fuzz.most_cases = UINT64_MAX;
    }
    constexpr std::uint64_t kMostTries = 1'000'000;
    parsed->fuzz.most_shrink_tries = static_cast<int>(std::min(parsed->tries, kMostTries));
    if (parsed->only == "operations") parsed->fuzz.only = FuzzOnly::kOperations;
    if (parsed->only == "histories") parsed->fuzz.only = FuzzOnly::kHistories;
    if (const Status status = Run(*parsed, context).Go(); !status.ok()) context.Fail(status);
  });
}

}  // namespace draftmark
