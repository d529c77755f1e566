#include "conformance/random/fuzz.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "conformance/random/build_case.h"
#include "conformance/random/random_draft.h"
#include "conformance/random/random_operation.h"
#include "conformance/random/shrink.h"
#include "src/base/counter_hash.h"
#include "src/base/memory_file_system.h"

namespace draftmark {
namespace {

constexpr std::string_view kCaseFolder = kFuzzCaseFolder;
// A draft costs as much as some twenty operations.
constexpr std::uint64_t kCasesPerHistory = 4;

// How one case went.
struct Outcome {
  enum class Kind { kPassed, kRefused, kFailed };
  Kind kind = Kind::kPassed;
  std::string signature = {};
  std::string report = {};

  bool is_error() const { return kind == Kind::kFailed && signature.starts_with("error"); }
  // What must stay as it is while the case shrinks: the signature without step and layer.
  std::string Essence() const {
    std::string essence;
    for (std::size_t i = 0; i < signature.size(); ++i) {
      if (std::isdigit(static_cast<unsigned char>(signature[i])) == 0) essence += signature[i];
    }
    return essence;
  }
};

Outcome OutcomeOfError(const Status& status, bool may_refuse) {
  const bool refused = may_refuse && (status.code() == StatusCode::kUnimplemented ||
                                      status.code() == StatusCode::kInvalidArgument);
  return {.kind = refused ? Outcome::Kind::kRefused : Outcome::Kind::kFailed,
          .signature = "error " + std::to_string(static_cast<int>(status.code())),
          .report = status.ToString() + "\n"};
}

// By the first function that fails it. What one of them refuses is refused, and still put to the
// others.
template <typename Function, typename Case>
Outcome RunAll(const std::vector<Function>& functions, const Case& one, bool may_refuse) {
  Outcome so_far;
  for (const Function& function : functions) {
    const auto report = function(one);
    if (!report.ok()) {
      so_far = OutcomeOfError(report.status(), may_refuse);
      if (so_far.kind == Outcome::Kind::kFailed) return so_far;
      continue;
    }
    if (report->no_result.unsupported()) so_far.kind = Outcome::Kind::kRefused;
    const std::string signature = report->Signature();
    if (signature.empty()) continue;
    return {.kind = Outcome::Kind::kFailed, .signature = signature, .report = ReportText(*report)};
  }
  return so_far;
}

class Fuzzer {
 public:
  Fuzzer(const FuzzSubject& subject, const FuzzOptions& options,
         const std::function<void(const FuzzFinding&)>& on_finding)
      : subject_(subject), options_(options), on_finding_(on_finding) {}

  StatusOr<FuzzReport> Run() {
    for (std::uint64_t i = 0; i < options_.most_cases; ++i) {
      if (ended_ || (options_.out_of_time && options_.out_of_time())) break;
      const std::uint64_t index = options_.first_case + i;
      const std::uint64_t seed = BitsAt(Mix64(options_.seed), index);
      const bool history = options_.only == FuzzOnly::kHistories ||
                           (options_.only == FuzzOnly::kBoth && index % kCasesPerHistory == 0);
      if (history) {
        DM_RETURN_IF_ERROR(RunHistory(index, seed));
      } else {
        RunOperationCase(index, seed);
      }
    }
    return std::move(report_);
  }

 private:
  Outcome RunOperations(const OperationCase& c) const {
    return RunAll(subject_.operations, c, subject_.may_refuse);
  }
  Outcome RunDrafts(const DrafterCase& drafter_case) const {
    return RunAll(subject_.drafts, drafter_case, subject_.may_refuse);
  }
  // Nothing for a draft that does not exist.
  std::optional<Outcome> RunDraft(const OrderedJson& config) const {
    MemoryFileSystem files;
    const StatusOr<DrafterCase> made = BuildCase(config, std::string(kCaseFolder), files);
    if (!made.ok()) return std::nullopt;
    return RunDrafts(*made);
  }

  // How often a finding may be tried.
  int TriesFor(const Outcome& outcome) {
    ended_ = subject_.errors_are_final && outcome.is_error();
    return ended_ ? 0 : options_.most_shrink_tries;
  }

  void Keep(FuzzFinding finding) {
    on_finding_(finding);
    report_.findings.push_back(std::move(finding));
  }

  void RunOperationCase(std::uint64_t index, std::uint64_t seed) {
    ++report_.operations;
    const OperationCase c = RandomOperation(seed, options_.most_flops);
    const Outcome outcome = RunOperations(c);
    if (outcome.kind == Outcome::Kind::kRefused) ++report_.refused;
    if (outcome.kind != Outcome::Kind::kFailed) return;
    const Shrunk<OperationCase> shrunk = Shrink<OperationCase>(
        c, SimplerOperations,
        [&](const OperationCase& candidate) {
          const Outcome of = RunOperations(candidate);
          return of.kind == Outcome::Kind::kFailed && of.Essence() == outcome.Essence();
        },
        TriesFor(outcome));
    const Outcome least = shrunk.tries == 0 ? outcome : RunOperations(shrunk.least);
    Keep({.index = index,
          .original = c.Id(),
          .signature = least.signature,
          .report = least.report,
          .operation = shrunk.least.Id(),
          .shrink_tries = shrunk.tries});
  }

  Status RunHistory(std::uint64_t index, std::uint64_t seed) {
    ++report_.histories;
    const OrderedJson config = RandomDraft(seed);
    MemoryFileSystem files;
    const StatusOr<DrafterCase> made = BuildCase(config, std::string(kCaseFolder), files);
    if (!made.ok()) {
      return InternalError(fmt::format("seed {}, case {}: {} in\n{}", options_.seed, index,
                                       made.status().ToString(), config.dump(1)));
    }
    report_.proposes += made->steps().size();
    const Outcome outcome = RunDrafts(*made);
    if (outcome.kind == Outcome::Kind::kRefused) ++report_.refused;
    if (outcome.kind != Outcome::Kind::kFailed) return OkStatus();
    const Shrunk<OrderedJson> shrunk = Shrink<OrderedJson>(
        config, SimplerDrafts,
        [&](const OrderedJson& candidate) {
          const std::optional<Outcome> of = RunDraft(candidate);
          return of && of->kind == Outcome::Kind::kFailed && of->Essence() == outcome.Essence();
        },
        TriesFor(outcome));
    const Outcome least = shrunk.tries == 0 ? outcome : RunDraft(shrunk.least).value_or(outcome);
    Keep({.index = index,
          .original = made->id().ToString(),
          .signature = least.signature,
          .report = least.report,
          .draft = shrunk.least,
          .shrink_tries = shrunk.tries});
    return OkStatus();
  }

  const FuzzSubject& subject_;
  const FuzzOptions& options_;
  const std::function<void(const FuzzFinding&)>& on_finding_;
  FuzzReport report_;
  bool ended_ = false;
};

}  // namespace

FuzzSubject ReferenceSubject() {
  FuzzSubject subject = {.name = "reference", .may_refuse = false};
  for (const Precision precision : {Precision::kExact, Precision::kBf16}) {
    subject.operations.push_back(
        [precision](const OperationCase& c) { return CheckReference(c, precision); });
    subject.drafts.push_back([precision](const DrafterCase& drafter_case) {
      return RunDrafterCase(drafter_case, precision, kReferenceBackend, OpenReferenceForCase);
    });
  }
  return subject;
}

FuzzSubject ReferencePathsSubject() {
  FuzzSubject subject = {.name = "reference paths"};
  Backend v1 = kReferenceBackend, contiguous = kReferenceBackend;
  v1.index_masks = true;
  const auto add = [&](const Backend& backend, const reference::ReferenceOptions& options) {
    subject.drafts.push_back([backend, open = OpenReferenceWith(options)](
                                 const DrafterCase& drafter_case) -> StatusOr<CaseReport> {
      if (!drafter_case.neighbours().empty()) return CaseReport();
      return RunDrafterCase(drafter_case, Precision::kBf16, backend, open);
    });
  };
  add(v1, {.scratch_version = 1});
  add(contiguous, {.paged = false});
  return subject;
}

StatusOr<FuzzReport> Fuzz(const FuzzSubject& subject, const FuzzOptions& options,
                          const std::function<void(const FuzzFinding&)>& on_finding) {
  return Fuzzer(subject, options, on_finding).Run();
}

Status WriteFinding(const FuzzFinding& finding, const std::string& directory,
                    FileSystem& file_system) {
  MemoryFileSystem files;
  const std::string folder(kCaseFolder);
  DM_RETURN_IF_ERROR(BuildCase(finding.draft, folder, files).status());
  return CopyCase(files, folder, file_system, directory);
}

std::string FuzzSummary(const FuzzSubject& subject, const FuzzOptions& options,
                        const FuzzReport& report) {
  return fmt::format(
      "fuzz {} seed {}: {} cases ({} operations, {} histories with {} proposes), {} refused, {} "
      "found",
      subject.name, options.seed, report.cases(), report.operations, report.histories,
      report.proposes, report.refused, report.findings.size());
}

}  // namespace draftmark
