// The plain forward: a whole draft in float64, from direct formulas of spec/drafter.md sections 3
// to 7.
//
// A second computation, written apart from src/reference: no scratch, no paging, no storage types.
// At every stage (names and shapes of src/backend/stages.h) it hands a hook what it computed and
// goes on with what the hook returns, so that one code serves as
//   an exact chain           the hook returns the computed values         (Recorder, kNothing)
//   a BF16 chain             it returns them rounded                      (Recorder, kBf16)
//   an oracle of each stage  it returns the values that a run handed on: each stage is computed
//                            from the run's own earlier ones, and what the run did wrong shows
//                            where it was done
// It can also make any known mistake (mistakes.h), each in one marked place.
//
//   plain::Recorder exact(plain::Rounding::kNothing);
//   DM_RETURN_IF_ERROR(plain::Run(config, weights, bands, {}, exact));
//   exact.values().at({.step = 0, .band = 0, .stage = "logits"});
//
// `bands[b]` holds the steps of sequence b, from step 0 on; bands may differ in rows and number of
// steps. Weights must match the config (LoadDrafterWeights checks that). Run is thread-safe for
// distinct hooks; `products` may be shared by runs of one thread.
//
// Errors: INVALID_ARGUMENT for inputs that do not fit the config (band, step, expected, found).
#ifndef DRAFTMARK_CONFORMANCE_PLAIN_FORWARD_H_
#define DRAFTMARK_CONFORMANCE_PLAIN_FORWARD_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "conformance/plain/mistakes.h"
#include "src/base/status.h"
#include "src/cases/drafter_case.h"
#include "src/config/drafter_config.h"
#include "src/weights/weights.h"

namespace draftmark::plain {

using Bands = std::vector<std::vector<CaseStep>>;  // [band][step]

struct StageId {
  std::size_t step = 0;
  std::size_t band = 0;
  std::string stage;
  auto operator<=>(const StageId&) const = default;
};

// From what one draft was chosen: scores of the tokens `ids`, or of the whole vocabulary where
// `ids` is empty.
struct Choice {
  std::vector<std::uint32_t> ids;
  std::vector<double> scores;
  // The largest sum of magnitudes that a head added to a logit: its roundings move scores by a
  // share of it. 0 for the plain head.
  double magnitude = 0;
};

struct Computed {
  std::vector<double>
      values;  // row-major, of StageShape; token stages may have a row more or less (row mistakes)
  std::vector<double> magnitude;  // sum of the magnitudes of each element's terms
  std::vector<double> largest;    // of these magnitudes; empty where no bound asks for it
  bool local = true;  // every stage that this one follows from came from the hook as given
  // For draft_tokens one per draft; for selector.candidate_ids the logits of each row.
  std::vector<Choice> choices;
};

struct Given {
  std::vector<double> values;
  bool given = true;  // false: computed here, since nothing else was at hand
};

class Hook {
 public:
  virtual ~Hook() = default;
  // What the computation goes on with; as many values as were computed.
  virtual Given Next(const StageId& id, Computed computed) = 0;
  // The run's own stage if it has one, ahead of its turn: the heads' walks follow the tokens that
  // the run chose.
  virtual const std::vector<double>* Peek(const StageId& /*id*/) const { return nullptr; }
  // An intermediate result that is no stage: q before its norm, the gate of the MLP.
  virtual double Round(double value) const = 0;
  // True ends the run early.
  virtual bool Stop() const { return false; }
};

enum class Rounding { kNothing, kBf16 };

// Keeps every stage. Rounds stages (but those that are F32 in a scratch: selector scores, margins)
// and intermediates.
class Recorder : public Hook {
 public:
  explicit Recorder(Rounding rounding) : rounding_(rounding) {}
  Given Next(const StageId& id, Computed computed) override;
  double Round(double value) const override;
  const std::map<StageId, std::vector<double>>& values() const { return values_; }

 private:
  const Rounding rounding_;
  std::map<StageId, std::vector<double>> values_;
};

// Whether a stage is stored as BF16 by an engine that follows the rules.
bool IsBf16Stage(std::string_view stage);

// Matrix products by content: runs that differ in one mistake share nearly all of them.
struct Product {
  std::vector<double> values, magnitude, largest;
};
class ProductCache {
 public:
  // The product of the rows `x` with `weight` (y = x W^T), the sums of the magnitudes of its terms,
  // and the largest of these magnitudes.
  const Product& Get(std::span<const double> x, const Bf16Matrix& weight);

 private:
  std::map<std::pair<const void*, std::vector<double>>, Product> products_;
  std::size_t kept_ = 0;  // doubles
};

struct Options {
  // FP32 frequency table and FP32 angles, which are part of the BF16 definition (section 4.3); else
  // float64.
  bool float32_angles = true;
  std::set<Mistake> mistakes = {};
  ProductCache* products = nullptr;  // not owned; null: a cache of this run's own
};

Status CheckBands(const DrafterConfig& config, const Bands& bands);

Status Run(const DrafterConfig& config, const DrafterWeights& weights, const Bands& bands,
           const Options& options, Hook& hook);

// The same step by step, for a hook that learns a run's stages as the run goes on.
class Forward;
class Steps {
 public:
  // Everything given must outlive the object, options too. Errors as Run's.
  static StatusOr<Steps> Open(const DrafterConfig& config, const DrafterWeights& weights,
                              const Bands& bands, const Options& options, Hook& hook);
  ~Steps();
  Steps(Steps&&) noexcept;
  Steps& operator=(Steps&&) noexcept;

  // Runs the next step of every band that has one.
  void Next();

 private:
  Steps();
  std::unique_ptr<ProductCache> products_;
  std::unique_ptr<Forward> forward_;
};

}  // namespace draftmark::plain

#endif  // DRAFTMARK_CONFORMANCE_PLAIN_FORWARD_H_
