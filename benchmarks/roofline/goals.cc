#include "benchmarks/roofline/goals.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace draftmark {
namespace {

struct Goal {
  std::string_view id;
  double must;
  double aim;
  std::string_view baseline;
};

constexpr Goal kGoals[] = {
    {"draft/qwen3-8b-dflash-b16/gamma=16,ctx=2048,new=8,nb=1", 1.25, 1.10, "qwen3_8b_b16_ctx2048"},
    {"draft/qwen3-4b-dflash-b16/gamma=16,ctx=2048,new=8,nb=1", 1.35, 1.15, "qwen3_4b_b16_ctx2048"},
    {"draft/qwen3-8b-dflash-b16/gamma=16,ctx=32768,new=8,nb=1", 1.30, 1.15,
     "qwen3_8b_b16_ctx32768"},
    {"draft/qwen3.8-27b-dflash2/gamma=8,ctx=4096,new=8,nb=1", 1.30, 1.15, ""},
    {"draft/qwen3.8-27b-dspark/gamma=7,ctx=4096,new=7,nb=1", 1.35, 1.15, ""},
    {"draft/qwen3-8b-dflash-b16/gamma=16,ctx=2048,new=8,nb=8", 1.45, 1.20,
     "qwen3_8b_b16_ctx2048_nb8"},
};

}  // namespace

StatusOr<std::vector<RooflineWork>> RooflineWorks() {
  DM_ASSIGN_OR_RETURN(std::vector<DraftCase> drafts, FindDraftCases({}));
  std::vector<RooflineWork> works;
  for (DraftCase& draft : drafts) {
    const auto* const goal = std::find_if(std::begin(kGoals), std::end(kGoals),
                                          [&](const Goal& g) { return g.id == draft.id; });
    if (goal == std::end(kGoals)) return InternalError(draft.id + ": no goal");
    works.push_back({.draft = std::move(draft),
                     .must = goal->must,
                     .aim = goal->aim,
                     .baseline = std::string(goal->baseline)});
  }
  return works;
}

const LinearGoal& LinearGoalOf(std::uint64_t weight_bytes) {
  const LinearGoal* found = std::begin(kLinearGoals);
  for (const LinearGoal& goal : kLinearGoals) {
    if (weight_bytes >= goal.from_bytes) found = &goal;
  }
  return *found;
}

}  // namespace draftmark
