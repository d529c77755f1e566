// Stages: the named intermediate results of one propose, and the sink that a backend hands them to.
//
// Names and shapes are those of the oracle cases (cases/README.md); every backend uses them, so
// that results can be compared stage by stage in the order in which data flows. Functions are pure and
// thread-safe; a sink hears of stages in the thread that called propose.
#ifndef DRAFTMARK_SRC_BACKEND_STAGES_H_
#define DRAFTMARK_SRC_BACKEND_STAGES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/config/drafter_config.h"
#include "src/tensor/tensor_view.h"

namespace draftmark {

// One stage of one band. Values are float64, which holds BF16, F32 and token ids exactly. Valid
// during the call only.
struct StageValue {
  std::size_t band = 0;
  std::string_view name;
  Shape shape;
  std::span<const double> values;
};

class StageSink {
 public:
  virtual ~StageSink() = default;
  // Backends skip the copy of a stage that nobody wants.
  virtual bool Wants(std::string_view /*name*/) const { return true; }
  virtual void OnStage(const StageValue& stage) = 0;
};

// "layers.3.q_norm".
std::string LayerStage(std::uint64_t layer, std::string_view stage);

// All stages that a drafter of this geometry has, in data-flow order: a stage depends only on
// earlier ones.
std::vector<std::string> StagesInDataFlowOrder(const DrafterConfig& config);

// Shape of a stage of one band: `new_rows` context rows since the last propose, a block of `gamma`
// rows. Empty for a name that this geometry does not have.
Shape StageShape(const DrafterConfig& config, std::string_view stage, std::uint64_t new_rows,
                 std::uint64_t gamma);

// Token ids, as opposed to values: draft_tokens and selector.candidate_ids.
bool IsIdStage(std::string_view stage);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BACKEND_STAGES_H_
