// Finds the first stage of a dump that is off, and which known mistakes reproduce the dump.
//
//   DM_ASSIGN_OR_RETURN(const Diagnosis diagnosis, Diagnose(config, weights, bands, dump));
//   diagnosis.FirstOff();        // null: the dump agrees
//   diagnosis.explanations;      // {{gqa-modulo}}: one mistake; several entries: they cannot be told apart
//
// Every stage is computed by the plain forward from what the dump itself handed on, where it is
// dumped, and from values computed here where it is not. A hypothesis is the same forward with one
// known mistake made on purpose; it explains the dump if
//   every dumped stage then agrees (stage_judgement.h), and
//   stages that were off end to end come as near to its exact values as a BF16 run that makes it,
//   at least four times nearer than to those of no mistake: a bound that is just met tells nothing.
// If no single mistake does, pairs are tried that start with one that mends the first stage off.
// Among hypotheses that all explain the dump, one whose errors are more than twice another's is
// dropped. Where tokens alone are off, a mistake is named only if no other explains them and it
// gives at least eight that a sound run does not; else it is only `consistent`.
//
// A stage that is judged end to end may be as far off as 1.5 times what a sound BF16 run of the
// same inputs and dumped stages is, where that is more than T4.
//
// Steps run in order, bands within a step, stages in data-flow order within a band. Nothing is kept
// between calls; thread-safe. Errors are those of plain::Run, and INVALID_ARGUMENT for a dumped
// stage of a head that the weights do not have, and for inputs that make a sound run overflow.
#ifndef DRAFTMARK_CONFORMANCE_DIAGNOSIS_DIAGNOSE_H_
#define DRAFTMARK_CONFORMANCE_DIAGNOSIS_DIAGNOSE_H_

#include <set>
#include <string>
#include <vector>

#include "conformance/diagnosis/dump.h"
#include "conformance/diagnosis/stage_judgement.h"
#include "conformance/plain/forward.h"
#include "src/base/status.h"
#include "src/config/drafter_config.h"
#include "src/weights/weights.h"

namespace draftmark {

using Hypothesis = std::set<plain::Mistake>;

struct Diagnosis {
  std::vector<StageFinding> findings;  // of every dumped stage, in data-flow order
  std::vector<Hypothesis>
      explanations;  // of a dump that is off; none: no known mistake reproduces it
  // Instead of explanations where tokens alone are off and cannot tell: what is consistent with them.
  std::vector<Hypothesis> consistent;
  std::size_t tested = 0;  // hypotheses that were tried

  const StageFinding* FirstOff() const;  // null: the dump agrees
  std::size_t Count(Agreement agreement) const;
};

StatusOr<Diagnosis> Diagnose(const DrafterConfig& config, const DrafterWeights& weights,
                             const plain::Bands& bands, const Dump& dump);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_DIAGNOSIS_DIAGNOSE_H_
