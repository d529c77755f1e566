// Judges the stages of one step of a draft against an oracle case: the rules of cases/README.md
// ("Comparing a BF16 implementation") and spec/drafter.md section 10, class T4.
//
// kExact: relative L2 error at most 1e-9 per stage (1e-6 under YaRN, whose cases were made with
// float32 frequencies), tokens equal.
//
// kBf16: every stage that the drafter has must be there and exactly representable in BF16; `fc`
// within 2 % of PyTorch's recorded error; `k_new` at most 1.5 times PyTorch's `k_norm` error of the
// same step and layer; every other stage at most 1.5 times the smaller of PyTorch's error and 0.02,
// and where none is recorded 0.02, logits 0.025, or 0.03 where a sound run needs more. Beyond that
// every stage, also one that the case does not hold and those of heads, must be the one rounding of
// what follows from the run's own earlier stages (local_oracle.h), so that a wrong rounding is seen
// where it happens. Tokens: token_rules.h. Of a case that is not to be judged end to end (DrafterCase)
// only the latter counts, and tokens by the run's own stages. Functions are pure and thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_DRAFTS_JUDGE_H_
#define DRAFTMARK_CONFORMANCE_DRAFTS_JUDGE_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/drafts/local_oracle.h"
#include "conformance/drafts/token_rules.h"
#include "src/backend/draft_session.h"
#include "src/base/status.h"
#include "src/cases/drafter_case.h"
#include "src/compare/comparison.h"

namespace draftmark {

// What is wrong with a stage that is off, without its numbers: the part of a failure that stays the
// same from run to run.
enum class FailureKind {
  kNone,              // passed
  kMissing,           // "missing": the backend gave no such stage
  kShape,             // "shape"
  kNotRepresentable,  // "not representable": a value that BF16 cannot hold
  kBound,             // "bound": beyond the bound of its distance from the case
  kOwnStages,         // "own stages": not the one rounding of the run's own earlier stages
  kOwnChoice,         // "own choice": tokens are not what the run's own stages give
  kOracleChoice,      // "oracle choice": not the case's tokens, although float64 is sure of them
  kReplay,            // "replay": other tokens where nobody watches (a case with `replay`)
};
std::string_view FailureKindName(FailureKind kind);  // as quoted above; "" for kNone

struct StageVerdict {
  std::size_t step = 0;
  std::string stage;
  double bound = 0;  // of the relative L2 error; 0 where the rule is another one
  std::string rule;  // where the bound comes from, for the report
  FailureKind kind = FailureKind::kNone;
  std::string failure;    // one line that says what is wrong; empty if nothing is
  Comparison comparison;  // empty if shapes differ or the stage is missing

  bool passed() const { return kind == FailureKind::kNone; }
  void Fail(FailureKind what, std::string line) {
    kind = what;
    failure = std::move(line);
  }
  // "step1.layers.0.k_new".
  std::string Name() const;
  // "step1.layers.0.k_new: bound"; empty if it passed.
  std::string Signature() const;
};

// What bounds a BF16 run of one step end to end. Nothing of it comes from the judged run.
struct StepBounds {
  // B of spec/drafter.md section 10, class T4: 1.5 times the largest logit error of PyTorch's BF16
  // run where the case records it, else of a sound BF16 run of the plain forward.
  double logit_bound = 0;
  std::string logit_source;  // of the figure, for the report
  // Relative L2 errors of the sound run by stage; empty where PyTorch's are recorded.
  std::map<std::string, double> sound_errors;
};
// Of each step. A sound run is made once, if a step needs it.
StatusOr<std::vector<StepBounds>> BoundsOfSteps(const DrafterCase& drafter_case,
                                                const DrafterWeights& weights);

// Verdicts of one step in data-flow order: kExact one for each stage that the case holds, kBf16 one
// for each stage that the drafter has. `weights` are the case's own. Both of the last are of kBf16
// only: `local` is what each stage should be given the run's own earlier stages, `bounds` are
// those of the step.
StatusOr<std::vector<StageVerdict>> JudgeStep(const DrafterCase& drafter_case,
                                              const DrafterWeights& weights, std::size_t step,
                                              Precision precision, const TappedStages& tapped,
                                              const LocalStages& local, const StepBounds& bounds);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_DRAFTS_JUDGE_H_
