// What `draftmark bench roofline` measures, and how near to the floor it must come.
//
//   DM_ASSIGN_OR_RETURN(const std::vector<RooflineWork> works, RooflineWorks());
//   for (const LinearShape& shape : LinearShapes(works)) ...   // linear_shapes.h
//
// The floor of a draft: bytes that must be read (draft_cost.h) over the copy bandwidth of the same
// run. Of a linear layer: its weights. Pure but for the catalogue's file.
#ifndef DRAFTMARK_BENCHMARKS_ROOFLINE_GOALS_H_
#define DRAFTMARK_BENCHMARKS_ROOFLINE_GOALS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/draft_case.h"
#include "src/base/status.h"

namespace draftmark {

struct RooflineWork {
  DraftCase draft;
  // Time over the floor: what a record needs, and what is hoped for.
  double must = 0;
  double aim = 0;
  std::string baseline;  // its name in pytorch_baseline.py; empty: no such drafter there
};

// Those of the default drafts (draft_case.h). INTERNAL if one has no goal; the catalogue's errors.
StatusOr<std::vector<RooflineWork>> RooflineWorks();

// Goals of a linear layer depend on the bytes of its weights; decimal megabytes.
struct LinearGoal {
  std::string_view name;
  std::uint64_t from_bytes = 0;
  double must = 0;  // share of the copy bandwidth; 0: none
  double aim = 0;
};
inline constexpr LinearGoal kLinearGoals[] = {
    {"under 64 MB", 0, 0.80, 0.94},
    {"64 to 96 MB", 64'000'000, 0, 0.94},  // between the classes of the goals
    {"from 96 MB", 96'000'000, 0.88, 0.94},
};
const LinearGoal& LinearGoalOf(std::uint64_t weight_bytes);

// Rows at which a linear layer is timed.
inline constexpr std::uint64_t kLinearRows[] = {1, 4, 8, 16, 32};

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_ROOFLINE_GOALS_H_
