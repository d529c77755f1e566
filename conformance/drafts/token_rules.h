// Are a run's tokens what its own logits and hidden rows say, and does float64 agree where it is
// sure?
//
// The rules of cases/README.md ("Tokens") and spec/drafter.md section 10, class T4, for each way of
// choosing tokens:
//  own path      tokens recomputed exactly from what the run gave: the tie rule on its logits
//                (dflash), on its biased logits (dspark), on its selector scores (dflash2), those
//                scores themselves recomputed from its logits and hidden rows. That biased logits
//                follow from its logits, hidden rows and tokens, the local oracle says
//                (local_oracle.h).
//  float64 path  every choice repeated with float64's own previous token ("teacher-forced"): the
//  float64 token, unless
//                its margin is at most 2B; B = 1.5 times the largest logit error of a sound BF16
//                run of the step. In dflash2 a candidate may enter or leave the 16 only where the
//                gap to the 17th is at most 2B.
// Written apart from the reference's walks.
#ifndef DRAFTMARK_CONFORMANCE_DRAFTS_TOKEN_RULES_H_
#define DRAFTMARK_CONFORMANCE_DRAFTS_TOKEN_RULES_H_

#include <cstddef>
#include <string>

#include "conformance/plain/tapped_stages.h"
#include "src/base/status.h"
#include "src/cases/drafter_case.h"
#include "src/weights/weights.h"

namespace draftmark {

struct TokenFindings {
  std::string failure;  // empty if all rules are kept; else one line: which draft breaks which
  // The failure is a token that float64 chooses otherwise; false: the run contradicts itself.
  bool against_oracle = false;
  std::size_t decided = 0;  // drafts whose float64 margin is large enough to fix the token
};

// Checks the tokens of a BF16 run. `logit_bound` is B.
StatusOr<TokenFindings> CheckBf16Tokens(const DrafterCase& drafter_case,
                                        const DrafterWeights& weights, std::size_t step,
                                        const TappedStages& tapped, double logit_bound);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_DRAFTS_TOKEN_RULES_H_
