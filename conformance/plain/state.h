// Internal to conformance/plain: the plain forward under way. Members are spread over context.cc,
// block.cc, tail.cc and heads.cc.
#ifndef DRAFTMARK_CONFORMANCE_PLAIN_STATE_H_
#define DRAFTMARK_CONFORMANCE_PLAIN_STATE_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/plain/formulas.h"
#include "conformance/plain/forward.h"

namespace draftmark::plain {

class Forward {
 public:
  Forward(const DrafterConfig& config, const DrafterWeights& weights, const Bands& bands,
          const Options& options, ProductCache& products, Hook& hook);
  void Run();
  // All bands of the next step; false after the last.
  bool RunStep();

 private:
  // Keys and values of one layer, row by row.
  struct Rows {
    std::vector<double> keys, values;
    bool given = true;
  };
  struct Band {
    std::vector<Rows> context;            // per layer, by logical index
    std::vector<std::int64_t> positions;  // of the context rows
    // The step under way, and after it the step before; beyond the step only mistakes read it.
    std::vector<Rows> block;                              // per layer
    std::map<std::string, std::vector<double>> conv_row;  // last input row of each convolution
    std::size_t visible = 0, previous_visible = 0;        // kv_len
    std::int64_t previous_start = 0;
    Given norm, logits;
    std::vector<std::vector<std::uint32_t>> candidates;  // per row
    std::vector<double> confidence;
  };
  struct DraftRows {
    std::size_t first, count;
  };

  bool Makes(Mistake mistake) const { return options_.mistakes.contains(mistake); }
  bool Later() const { return step_ > 0; }      // than the first step
  bool LaterBand() const { return band_ > 0; }  // than the first band
  const CaseStep& call() const { return bands_[band_][step_]; }
  const CaseStep& CallOfBandZero() const {
    return step_ < bands_[0].size() ? bands_[0][step_] : call();
  }
  std::size_t width() const { return call().block_tokens.size(); }
  Band& state() { return states_[band_]; }

  Given Emit(const std::string& stage, Terms terms, bool local, std::vector<Choice> choices = {});
  const std::vector<double>* Peek(const std::string& stage) const {
    return hook_.Peek({step_, band_, stage});
  }
  std::vector<double> Rounded(std::vector<double> values) const;
  Terms Linear(std::span<const double> x, const Bf16Matrix& weight,
               std::span<const BFloat16> bias = {});
  Terms Norm(std::span<const double> x, std::size_t row, const Bf16Matrix& weight,
             std::span<const double> x_magnitude = {}) const;
  // The norm per head of a projection.
  Terms HeadNorm(Terms projected, const Bf16Matrix& weight) const;

  // context.cc: sections 3 and 4.2.
  void DropFront();
  Given ContextRows();
  std::vector<double> ContextInput(std::uint64_t layer, const Given& hidden);
  Terms ContextProjection(std::uint64_t layer, std::span<const double> input, bool key);
  std::int64_t ContextPosition(std::size_t row) const;
  std::int64_t BlockPosition(std::size_t row) const;
  void KeysAndValues(std::uint64_t layer, const Given& hidden, const Given& input);
  void FinishStep();

  // block.cc: sections 2 and 4.
  Given Embedding() const;
  void Layer(std::uint64_t layer, const Given& hidden, Given& stream);
  Given Queries(std::uint64_t layer, const Given& input);
  Given Attention(std::uint64_t layer, const Given& queries);
  double ScoreScale() const;
  const double* CachedRow(std::uint64_t layer, std::vector<double> Rows::*member,
                          std::size_t m) const;
  bool Sees(std::uint64_t layer, std::size_t row, std::size_t key) const;
  std::size_t KeyLimit(std::uint64_t layer, std::size_t row);
  Given Convolve(const std::string& stage, const ConvWeights& conv, std::size_t side,
                 const Given& in, const Given& dynamic);
  Given Mlp(std::uint64_t layer, const Given& input);

  // tail.cc and heads.cc: sections 5, 6 and 7.2.
  DraftRows Drafts() const;
  void Tail(const Given& stream);
  std::vector<std::uint32_t> Overwritten(std::size_t row, std::span<const double> logits) const;
  void OverwriteTopK(Given& logits, const std::vector<double>& before);
  std::span<const double> LogitsOf(std::size_t row) const;
  std::span<const double> HiddenOf(std::size_t row) const;
  std::size_t Choose(std::span<const double> scores) const;
  // The run's own token of draft `draft` where it has one, else `computed`.
  std::uint32_t Chosen(std::size_t draft, std::uint32_t computed) const;
  std::uint32_t Anchor() const;
  // `margins`: the rows that margins are of, where they are others than those the tokens were
  // chosen from.
  void EmitTokens(std::vector<Choice> choices, bool local,
                  const std::vector<Choice>* margins = nullptr);
  void PlainHead();
  void MarkovHead();
  std::uint32_t Previous(std::size_t draft, std::uint32_t chosen) const;
  Terms MarkovBias(std::uint32_t previous, std::size_t row, std::vector<double>& carried);
  Terms Confidence(std::uint32_t previous, std::size_t row);
  void EmitConfidence(Terms confidence, bool local);
  void SelectorHead();
  // The candidates of each draft and their logits; `local`: both came as given.
  std::vector<Choice> SelectorCandidates(bool& local);
  std::vector<std::uint32_t> ViterbiPath(const std::vector<Choice>& candidates,
                                         const Given& hidden) const;
  double SelectorTerm(std::uint32_t previous, std::uint32_t candidate,
                      std::span<const double> hidden, double* magnitude) const;

  const DrafterConfig& config_;
  const DrafterWeights& weights_;
  const Bands& bands_;
  const Options& options_;
  ProductCache& products_;
  Hook& hook_;
  const Rotation rotation_;
  std::vector<Band> states_;
  std::size_t step_ = 0;
  std::size_t band_ = 0;
};

}  // namespace draftmark::plain

#endif  // DRAFTMARK_CONFORMANCE_PLAIN_STATE_H_
