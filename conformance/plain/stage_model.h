// How far each stage of a BF16 draft with FP32 sums may lie from what the plain forward computes
// from the draft's own earlier stages: the classes of spec/drafter.md section 10.
//
// A stage behind an intermediate result that is rounded but not shown (q and k before their norms,
// the gate of the MLP) inherits that result's rare other neighbour and the error of its sums: one
// more spacing, or a share of the sum of magnitudes. Pure, thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_PLAIN_STAGE_MODEL_H_
#define DRAFTMARK_CONFORMANCE_PLAIN_STAGE_MODEL_H_

#include <string_view>

#include "src/compare/tolerance.h"
#include "src/config/drafter_config.h"

namespace draftmark::plain {

inline constexpr double kBf16Half = 0x1p-8;  // u of spec/drafter.md: half a spacing at 1

struct StageModel {
  ErrorModel single;     // T1 or T2
  ErrorModel alternate;  // T3
};
// Of any stage but ids, which have no distance.
StageModel ModelOf(const DrafterConfig& config, std::string_view stage);

}  // namespace draftmark::plain

#endif  // DRAFTMARK_CONFORMANCE_PLAIN_STAGE_MODEL_H_
