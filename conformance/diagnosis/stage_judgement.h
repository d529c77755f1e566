// Does one dumped stage agree with what the plain forward computed for it? By the classes of
// spec/drafter.md section 10:
//   its inputs were dumped      T1, T2 with FP32 accumulation; beyond that T3, the published alternate rounding chains
//                               (Hugging Face's and the reference's), which agree too but are reported
//   some were not               T4: relative L2 error at most 2e-2 (logits 2.5e-2)
// Token ids: exactly what the rule gives on the run's own scores; where those were not dumped, any
// token whose score is within 2B of the best, B being 1.5 times the largest logit error of a sound
// BF16 run of the step (cases/README.md). Pure, thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_DIAGNOSIS_STAGE_JUDGEMENT_H_
#define DRAFTMARK_CONFORMANCE_DIAGNOSIS_STAGE_JUDGEMENT_H_

#include <string>

#include "conformance/diagnosis/dump.h"
#include "conformance/plain/forward.h"
#include "src/compare/comparison.h"
#include "src/config/drafter_config.h"

namespace draftmark {

enum class Agreement {
  kAgrees,
  kAlternateRounding,  // within T3 only
  kEndToEnd,           // within T4, which is all that can be asked
  kOff,
};
std::string_view AgreementName(Agreement agreement);

struct StageFinding {
  plain::StageId id;
  std::string tensor;  // name in the dump
  Agreement agreement = Agreement::kAgrees;
  bool local = true;                // its inputs were dumped
  std::string failure;              // empty unless off: one line
  Comparison comparison;            // empty where shapes differ or ids are compared
  std::uint64_t beyond_single = 0;  // elements outside T1 or T2
};

// `logit_bound` is B of the step and band.
StageFinding JudgeDumpedStage(const DrafterConfig& config, const plain::StageId& id,
                              const plain::Computed& computed, const DumpedStage& dumped,
                              double logit_bound);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_DIAGNOSIS_STAGE_JUDGEMENT_H_
