// The stages that a backend handed on, kept by name.
#ifndef DRAFTMARK_CONFORMANCE_PLAIN_TAPPED_STAGES_H_
#define DRAFTMARK_CONFORMANCE_PLAIN_TAPPED_STAGES_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "src/backend/stages.h"
#include "src/tensor/tensor_view.h"

namespace draftmark {

struct TappedStage {
  Shape shape;
  std::vector<double> values;
};
// The stages of one band in one step.
using TappedStages = std::map<std::string, TappedStage, std::less<>>;

// Keeps every stage of one propose. Not thread-safe.
class StageCollector : public StageSink {
 public:
  void OnStage(const StageValue& stage) override {
    bands_[stage.band][std::string(stage.name)] = {stage.shape,
                                                   {stage.values.begin(), stage.values.end()}};
  }
  const std::map<std::size_t, TappedStages>& bands() const { return bands_; }
  const TappedStages& band(std::size_t band = 0) { return bands_[band]; }

 private:
  std::map<std::size_t, TappedStages> bands_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_PLAIN_TAPPED_STAGES_H_
