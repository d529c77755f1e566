// Random testing: draws operation cases and drafts, lets somebody compute them, and makes what
// fails as small as it goes.
//
//   FuzzOptions options = {.seed = 1, .most_cases = 400};
//   DM_ASSIGN_OR_RETURN(const FuzzReport report, Fuzz(ReferenceSubject(), options, on_finding));
//   report.findings   // each with a case that `draftmark verify` takes
//
// Case i depends on the seed and i alone, so that a run with the same seed meets the same cases,
// and a longer one the same first ones. What a finding is: a verdict that fails; on the reference a
// differential of `exact`, `bf16` and direct formulas written apart (the oracles of src/operations,
// the plain forward), on another backend of that backend and those. An error instead of a result is
// a finding too, unless it says that the backend does not take such a case (kUnimplemented,
// kInvalidArgument), or is a refusal that the backend has announced (Backend::index_masks): that is
// counted as refused, and never happens to the reference. Who else runs the case is judged all the
// same.
//
// Functions belong to one thread at a time.
#ifndef DRAFTMARK_CONFORMANCE_RANDOM_FUZZ_H_
#define DRAFTMARK_CONFORMANCE_RANDOM_FUZZ_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/drafts/run_case.h"
#include "conformance/operations/check_operation.h"
#include "src/base/file_system.h"
#include "src/base/json.h"
#include "src/base/status.h"
#include "src/cases/drafter_case.h"
#include "src/operations/operation.h"

namespace draftmark {

// Who computes. Every case is run by each of the functions.
struct FuzzSubject {
  std::string name;  // as in --backend
  bool may_refuse = true;
  // After an error (of CUDA) nothing else can be computed: the run ends with it.
  bool errors_are_final = false;
  std::vector<std::function<StatusOr<OperationReport>(const OperationCase&)>> operations = {};
  std::vector<std::function<StatusOr<CaseReport>(const DrafterCase&)>> drafts = {};
};
// Both precisions.
FuzzSubject ReferenceSubject();
// Histories alone, in bf16: on scratch v1 and without a cache, which hold one sequence, so that a
// draft with neighbours passes unseen.
FuzzSubject ReferencePathsSubject();

enum class FuzzOnly { kBoth, kOperations, kHistories };

struct FuzzOptions {
  std::uint64_t seed = 1;
  std::uint64_t first_case = 0;
  std::uint64_t most_cases = 400;
  FuzzOnly only = FuzzOnly::kBoth;
  double most_flops = 4e6;      // of one operation case
  int most_shrink_tries = 400;  // of one finding
  // Asked before every case; empty: never.
  std::function<bool()> out_of_time = {};
};

// What reports of drafts call the folder of a case that is not written yet.
inline constexpr std::string_view kFuzzCaseFolder = "case";

struct FuzzFinding {
  std::uint64_t index = 0;     // of the case in the run
  std::string original;        // id of the case as it was drawn
  std::string signature;       // "tokens: bound", "step0.fc: own stages", or an error's message
  std::string report;          // text of the report of the least case; a line for an error
  std::string operation = {};  // id of the least case; empty for a draft
  OrderedJson draft = {};      // config.json of the least case; null for an operation
  int shrink_tries = 0;
};

struct FuzzReport {
  std::uint64_t operations = 0;  // cases of each kind
  std::uint64_t histories = 0;
  std::uint64_t proposes = 0;  // of the histories
  std::uint64_t refused = 0;
  std::vector<FuzzFinding> findings;

  std::uint64_t cases() const { return operations + histories; }
};

// `on_finding` is called as they are found. INTERNAL for a drawn draft that does not exist, which
// is a fault of the generator.
StatusOr<FuzzReport> Fuzz(const FuzzSubject& subject, const FuzzOptions& options,
                          const std::function<void(const FuzzFinding&)>& on_finding);

// Writes what reproduces a draft's finding into `directory`: a case folder.
Status WriteFinding(const FuzzFinding& finding, const std::string& directory,
                    FileSystem& file_system = RealFileSystem());

// "fuzz reference seed 1: 400 cases (300 operations, 100 histories with 345 proposes), 0 refused, 0
// found".
std::string FuzzSummary(const FuzzSubject& subject, const FuzzOptions& options,
                        const FuzzReport& report);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_RANDOM_FUZZ_H_
