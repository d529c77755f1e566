// Golden files of one generated draft: its config.json and the float64 stages, stored as F32.
#ifndef DRAFTMARK_CONFORMANCE_GOLDEN_DRAFT_FILE_H_
#define DRAFTMARK_CONFORMANCE_GOLDEN_DRAFT_FILE_H_

#include <string>
#include <string_view>

#include "conformance/drafts/local_oracle.h"
#include "conformance/golden/draft_specs.h"
#include "conformance/golden/golden_set.h"
#include "src/base/json.h"
#include "src/base/status.h"

namespace draftmark {

// Folder of a draft below golden/: "drafts/qwen3-4b-dflash".
std::string DraftFolder(const DraftSpec& spec);

// Whether the golden file holds a stage: the ends of the forward, its heads, the residual stream
// after the first and the last layer, and the first layer's cached keys. The rest is what a failure
// would be traced through.
bool IsKeptStage(std::string_view stage, std::uint64_t layers);

// INTERNAL if a stage of a run is not finite, has no second computation, or differs from what direct
// formulas make of the run's own earlier stages by more than the error of float64 sums; names case,
// the first such stage in data-flow order, element and both values. No stage is exempt.
Status CheckAgreement(const DrafterConfig& config, const std::string& id, std::size_t step,
                      const TappedStages& tapped, const LocalStages& local);

GoldenFile MakeDraftConfigFile(const DraftSpec& spec, const OrderedJson& config);

// Runs the draft in float64 and checks every stage against formulas written apart from the
// reference. INTERNAL names the first stage that does not agree.
StatusOr<GoldenFile> MakeDraftStagesFile(const DraftSpec& spec, const OrderedJson& config);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_GOLDEN_DRAFT_FILE_H_
