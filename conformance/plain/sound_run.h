// How far a BF16 run that makes no mistake lies from float64.
#ifndef DRAFTMARK_CONFORMANCE_PLAIN_SOUND_RUN_H_
#define DRAFTMARK_CONFORMANCE_PLAIN_SOUND_RUN_H_

#include <map>

#include "conformance/plain/forward.h"
#include "src/base/status.h"

namespace draftmark::plain {

struct SoundError {
  double relative_l2 = 0;
  double largest = 0;  // absolute difference
};
// Of the stages that are stored as BF16.
using SoundErrors = std::map<StageId, SoundError>;

// Runs the plain forward twice, in float64 and in BF16; `products`, if given, keeps the products of
// the BF16 run. Errors as plain::Run's.
StatusOr<SoundErrors> MeasureSoundRun(const DrafterConfig& config, const DrafterWeights& weights,
                                      const Bands& bands, ProductCache* products = nullptr);

// B of spec/drafter.md section 10, class T4, is this times the largest logit error of a sound BF16
// run of the same step.
inline constexpr double kLogitBoundShare = 1.5;

}  // namespace draftmark::plain

#endif  // DRAFTMARK_CONFORMANCE_PLAIN_SOUND_RUN_H_
