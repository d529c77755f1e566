// What each stage of a run should be, given the run's own earlier stages: float64, unrounded, from
// direct formulas.
//
// An end-to-end bound lets a wrong rounding of one stage through, since what earlier stages left
// over is larger. Here every stage starts from what the run itself handed on, so one stage is seen
// alone: a correct BF16 stage lies within half a spacing of its local oracle, up to the error of
// its sums. The formulas are the plain forward's (conformance/plain/forward.h). Not thread-safe:
// steps must come in order.
#ifndef DRAFTMARK_CONFORMANCE_DRAFTS_LOCAL_ORACLE_H_
#define DRAFTMARK_CONFORMANCE_DRAFTS_LOCAL_ORACLE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/drafts/token_rules.h"
#include "conformance/plain/forward.h"
#include "src/backend/draft_session.h"
#include "src/base/status.h"
#include "src/cases/drafter_case.h"
#include "src/weights/weights.h"

namespace draftmark {

struct LocalStage {
  std::vector<double> oracle;
  std::vector<double> magnitude;     // sum of the magnitudes of each element's terms
  std::vector<double> allowed;       // how far a sound element may lie from its oracle
  std::vector<double> largest = {};  // of the magnitudes; empty where no bound asks for it
};
using LocalStages = std::map<std::string, LocalStage, std::less<>>;

// Decides what is allowed: a float64 sum leaves half a spacing for the one rounding; an FP32 sum
// may fall to the other side of a midpoint, so spec/drafter.md section 10 allows a whole one (class
// T1, T2) and a term that grows with the length.
enum class Accumulation { kFloat64, kFloat32 };

class LocalOracle {
 public:
  // In kBf16 intermediate results that are no stages (q before its norm, the gate of the MLP) are
  // rounded where the rules say so; in kExact nothing is.
  // `accumulation` is how the judged backend sums. Case and weights must outlive the object.
  // INVALID_ARGUMENT for a config or steps that the plain forward refuses.
  static StatusOr<std::unique_ptr<LocalOracle>> Open(const DrafterCase& drafter_case,
                                                     const DrafterWeights& weights,
                                                     Precision precision,
                                                     Accumulation accumulation);
  ~LocalOracle();

  // The stages of step `step` that can be told from what was tapped; a stage whose inputs are
  // missing is left out. Heads' walks follow the tokens that the run itself chose.
  LocalStages Step(std::size_t step, const TappedStages& tapped);

 private:
  class TapHook;
  LocalOracle(const DrafterCase& drafter_case, Precision precision, Accumulation accumulation);
  void Allow(const std::string& stage, LocalStage& local) const;

  const DrafterConfig& config_;
  const Accumulation accumulation_;
  const plain::Bands bands_;
  plain::Options options_;
  std::unique_ptr<TapHook> hook_;
  std::optional<plain::Steps> steps_;  // set by Open
};

// How a step fares against its local oracle, in data-flow order.
struct LocalFindings {
  std::size_t checked = 0;
  double used_share = 0;  // of what is allowed, by the worst element
  std::string first_off;  // stage, or empty
  // Tapped stages that nothing was computed for: they are not checked.
  std::vector<std::string> without_oracle;
};
LocalFindings CompareWithLocal(const DrafterConfig& config, const TappedStages& tapped,
                               const LocalStages& local);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_DRAFTS_LOCAL_ORACLE_H_
