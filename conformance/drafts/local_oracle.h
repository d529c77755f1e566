// What each stage of a run should be, given the run's own earlier stages: float64, unrounded, from
// direct formulas.
//
// An end-to-end bound lets a wrong rounding of one stage through, since what earlier stages left
// over is larger. Here every stage starts from what the run itself handed on, so one stage is seen
// alone: a correct BF16 stage lies within half a spacing of its local oracle, up to the error of
// its sums. Written apart from src/reference, as plain formulas of spec/drafter.md sections 3 to 5
// and 7.1. Not thread-safe: steps must come in order.
#ifndef DRAFTMARK_CONFORMANCE_DRAFTS_LOCAL_ORACLE_H_
#define DRAFTMARK_CONFORMANCE_DRAFTS_LOCAL_ORACLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "conformance/drafts/token_rules.h"
#include "src/backend/draft_session.h"
#include "src/cases/drafter_case.h"
#include "src/reference/weights.h"

namespace draftmark {

struct LocalStage {
  std::vector<double> oracle;
  std::vector<double> magnitude;  // sum of the magnitudes of each element's terms
  std::vector<double> allowed;    // how far a sound element may lie from its oracle
};
using LocalStages = std::map<std::string, LocalStage, std::less<>>;

// Decides what is allowed: a float64 sum leaves half a spacing for the one rounding; an FP32 sum may fall to the other side
// of a midpoint, so spec/drafter.md section 10 allows a whole one (class T1, T2) and a term that grows with the length.
enum class Accumulation { kFloat64, kFloat32 };

class LocalOracle {
 public:
  // In kBf16 intermediate results that are no stages (q before its norm, the gate of the MLP) are
  // rounded where the rules say so; in kExact nothing is.
  // `accumulation` is how the judged backend sums.
  LocalOracle(const DrafterCase& drafter_case, const reference::DrafterWeights& weights,
              Precision precision, Accumulation accumulation);

  // The stages of step `step` that can be told from what was tapped; a stage whose inputs are
  // missing is left out.
  LocalStages Step(std::size_t step, const TappedStages& tapped);

 private:
  // The cached context of one layer, by logical index, as the run gave it in k_new and v_new.
  struct LayerContext {
    std::vector<double> keys, values;
  };

  void Context(std::size_t step);
  void Layer(std::size_t step, std::uint64_t layer, std::vector<double>& stream);
  void QueriesKeysValues(std::size_t step, std::uint64_t layer, const std::vector<double>& input);
  void Attention(std::size_t step, std::uint64_t layer);
  void Dynamic(const std::string& site, const reference::ConvWeights& conv,
               const std::vector<double>& normed);
  void Convolve(const std::string& stage, const std::string& site,
                const reference::ConvWeights& conv, std::size_t side,
                const std::vector<double>& in);

  void Allow(const std::string& stage, LocalStage& local) const;
  LocalStage Linear(std::span<const double> x, const reference::Bf16Matrix& weight,
                    std::span<const BFloat16> bias) const;
  LocalStage RmsNorm(std::span<const double> x, std::size_t width,
                     const reference::Bf16Matrix& weight) const;
  void Rope(std::span<double> heads, std::int64_t position, std::vector<double>* magnitude) const;
  double Round(double value) const;
  std::vector<double> Rounded(std::vector<double> values) const;
  // The run's stage, or empty.
  std::vector<double> Tapped(const std::string& stage) const;

  const DrafterCase& case_;
  const DrafterConfig& config_;
  const reference::DrafterWeights& weights_;
  const Precision precision_;
  const Accumulation accumulation_;
  std::vector<double> frequencies_;
  double amplitude_ = 1;
  std::size_t partner_ = 0;
  std::vector<LayerContext> context_;
  std::vector<std::int64_t> context_positions_;
  const TappedStages* tapped_ = nullptr;  // of the step under way
  LocalStages local_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_DRAFTS_LOCAL_ORACLE_H_
