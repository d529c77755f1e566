// Expectations: which cases are known to fail on one architecture, and how.
//
// A file conformance/expectations/ARCH.toml (cpu, sm_90, ...) holds one entry for each known
// failure or waiver. Nothing fails silently, and no entry outlives its reason: an entry whose case
// passes, or fails in another way, or whose date is over, is a failure of its own.
//
//   schema_version = 1
//
//   [[expectation]]
//   case      = "draft/dflash_yarn/gamma=16,ctx=71,steps=2,nb=1"  # a case id; * = any text
//   kind      = "known_failure"                                   # or "waiver"
//   precision = "bf16"                                            # optional: exact or bf16
//   backend   = "reference"                                       # optional
//   reason    = "angles are rounded to BF16"
//   owner     = "kernels"
//   link      = "https://example.com/issues/12"
//   expires   = 2026-12-31                                        # the last day it holds, in UTC
//   signature = "step0.layers.0.k_new: bound"                     # from the FAIL block of verify
//
// known_failure: a defect that the owner will repair. The case must fail with exactly this
// signature. waiver: a deviation that is tolerated as it is. Its signature may hold `*` before the
// last ": " (say, "step*.layers.*.k_new: bound"), since a tolerated deviation may show first in
// another layer; the kind of failure is always fixed. For both, a pass is an unexpected pass: the
// entry has to go. A signature reads "WHERE: WHAT" (CaseReport::Signature for drafter cases).
//
// A file of a GPU architecture may say why no build has code for it (architectures.h):
//
//   [architecture]
//   not_built = "BF16 tensor cores begin with sm_80"
//
// Entries must not overlap: no case may fall under two of them in the same precision and backend.
// An entry that matches no case is stale; that shows only in a run of the whole set.
#ifndef DRAFTMARK_CONFORMANCE_EXPECTATIONS_EXPECTATIONS_H_
#define DRAFTMARK_CONFORMANCE_EXPECTATIONS_EXPECTATIONS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/backend/draft_session.h"
#include "src/base/clock.h"
#include "src/base/file_system.h"
#include "src/base/status.h"

namespace draftmark {

enum class ExpectationKind { kKnownFailure, kWaiver };
std::string_view ExpectationKindName(ExpectationKind kind);  // "known_failure", "waiver"

struct Expectation {
  std::string case_pattern;
  ExpectationKind kind = ExpectationKind::kKnownFailure;
  std::optional<Precision> precision;  // absent: any
  std::optional<std::string> backend;  // absent: any
  std::string reason, owner, link;
  std::chrono::year_month_day expires;  // the last day on which it holds
  std::string signature;
  std::uint32_t line = 0;  // of `case` in the file

  std::string ExpiresText() const;  // "2026-12-31"
};

// One case as it ran.
struct CaseRun {
  std::string id;
  Precision precision = Precision::kExact;
  std::string backend;
  std::string signature;     // empty: it passed
  std::string scratch = {};  // as in --scratch, where it is not the backend's default; for the line
};

enum class Outcome {
  kPass,              // "PASS": passed, and nothing else was expected
  kFail,              // "FAIL": failed, and nothing was expected
  kExpectedFailure,   // "XFAIL": failed as expected
  kUnexpectedPass,    // "UNEXPECTED PASS"
  kExpired,           // "EXPIRED": failed as expected until a date that is over
  kChangedSignature,  // "CHANGED SIGNATURE": failed, but otherwise than expected, whatever the date
};
std::string_view OutcomeName(Outcome outcome);  // as quoted above
// kPass and kExpectedFailure need nobody's attention; the others count as failures.
bool IsFailure(Outcome outcome);

struct Verdict {
  Outcome outcome = Outcome::kPass;
  const Expectation* expectation =
      nullptr;  // null exactly for kPass and kFail; belongs to the file
};

// The entries of one file, checked as a whole. Immutable, may be shared by threads.
class Expectations {
 public:
  Expectations() = default;  // expects nothing

  // `source` is the file's name for messages. INVALID_ARGUMENT, NOT_FOUND (a key that must be there)
  // or DATA_LOSS (no TOML) names file, line, key, what was expected and what was found. Nothing is
  // thrown.
  static StatusOr<Expectations> Parse(std::string_view text, const std::string& source);
  // NOT_FOUND and the like as ReadTextFile.
  static StatusOr<Expectations> Load(const std::string& path,
                                     FileSystem& file_system = RealFileSystem());

  const std::vector<Expectation>& entries() const { return entries_; }
  // Why no build has code for the file's architecture; empty where one may.
  const std::string& not_built() const { return not_built_; }
  Verdict Judge(const CaseRun& run, const Clock& clock) const;
  // After a run of the whole set: INVALID_ARGUMENT names the first entry that matched none of
  // `runs`, although its filters admit one of them.
  Status CheckNoneIsStale(std::span<const CaseRun> runs) const;

  // The line that reports a verdict, with its newline. Empty for kPass and kFail, for which the
  // suite has its own.
  std::string OutcomeLine(const CaseRun& run, const Verdict& verdict) const;

 private:
  std::string source_;
  std::string not_built_;
  std::vector<Expectation> entries_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_EXPECTATIONS_EXPECTATIONS_H_
