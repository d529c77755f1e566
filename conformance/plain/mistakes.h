// Known mistakes of drafter implementations: what each is called, how it looks, what mends it, and
// to which drafters it applies. The plain forward (forward.h) can make every one of them on
// purpose.
//
// The list is spec/drafter.md sections 11 and 13, and what else has gone wrong or easily goes wrong
// in ports of these drafters. `mutants.h` of conformance/diagnosis says of each mutant of section
// 13 whether a dump of stages shows it. Constant data, thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_PLAIN_MISTAKES_H_
#define DRAFTMARK_CONFORMANCE_PLAIN_MISTAKES_H_

#include <span>
#include <string_view>
#include <vector>

#include "src/cases/drafter_case.h"
#include "src/config/drafter_config.h"
#include "src/weights/weights.h"

namespace draftmark::plain {

enum class Mistake {
  // Context path.
  kTapsReversed,
  kTapsRotated,
  kHiddenNormMissing,
  kContextInputNorm,
  kContextConv,
  kKvSwapped,
  kKvGrouped,
  kContextPositionHigh,
  kContextPositionLow,
  kContextPositionFromSlot,
  kContextUnrotated,
  kSlideNotRewritten,
  kStaleBlockRows,
  // Input of the block.
  kEmbedScaleMissing,
  kMaskEmbeddingIgnored,
  kAnchorAsMask,
  // Norms.
  kNormPlusOne,
  kEpsilon1e6,
  kEpsilon1e5,
  kQkNormMissing,
  kQkNormNoWeight,
  kQkNormAfterRope,
  kFinalNormMissing,
  kResidualAfterNorm,
  // Rotary embedding and positions.
  kRopeInterleaved,
  kRopeOtherPairing,
  kRopeFullWidth,
  kRopeBackwards,
  kRopeTheta1e4,
  kRopeTheta1e6,
  kRopeWidth64,
  kRopeWidth128,
  kRopeBf16Frequencies,
  kYarnIgnored,
  kYarnNoAmplitude,
  kYarnPlainAmplitude,
  kYarn4Of32768,
  kYarn32Of4096,
  kYarn64Of4096,
  kBlockPositionFromSlot,
  kBlockPositionHigh,
  kBlockPositionLow,
  kBlockPositionStale,
  kQueryUnrotated,
  // Attention.
  kScaleMissing,
  kScaleByWidth,
  kScaleOf64,
  kScaleOf128,
  kCausalEverywhere,
  kSlidingCausal,
  kSlidingNotCausal,
  kFullNotCausal,
  kWindowIgnored,
  kWindowOneMore,
  kWindowOneLess,
  kMaskBySlot,
  kSinksIgnored,
  kBiasDropped,
  kGqaModulo,
  kValueNormed,
  kValueRotated,
  kKeyLoopTile16,
  kKeyLoopTile32,
  kKeyLoopTile64,
  kStaleKvLength,
  kBandZeroContext,
  kBandZeroArguments,
  kBandZeroPositions,
  kBandZeroLogits,
  kBandZeroAnchor,
  // MLP.
  kGateUpSwapped,
  kSwigluClamp10,
  kSwigluClamp7,
  kGelu,
  // Dynamic convolution.
  kConvCrossesBands,
  kConvCrossesBlocks,
  kConvDynamicOfSource,
  kConvSidesSwapped,
  kConvOtherDynamic,
  kConvTapsReversed,
  kConvNoDynamic,
  // Logits and rows.
  kMultiplierMissing,
  kSoftcapMissing,
  kSoftcapFirst,
  kRowZeroUsed,
  kRowZeroDropped,
  kRowsRotated,
  kTieLastId,
  kTieModulo1024,
  kLogitsAfterTopK,
  kLogitsStaleTopK,
  // Heads.
  kMarkovMissing,
  kMarkovRowZeroExempt,
  kMarkovPrevUnbiased,
  kMarkovPrevRowZero,
  kMarkovPrevAnchor,
  kMarkovSwapped,
  kRnnStateLost,
  kConfidenceNoMarkov,
  kConfidenceOrder,
  kConfidenceStale,
  kSelectorIndependent,
  kSelectorViterbi,
  kSelectorSwapped,
  kSelectorPrevAnchor,
};

// What decides whether a mistake can be made at all.
struct Situation {
  const DrafterConfig& config;
  const DrafterWeights& weights;
  std::span<const std::vector<CaseStep>> bands;
};

struct MistakeInfo {
  Mistake mistake;
  std::string_view name;  // stable, for reports: "gqa-modulo"
  std::string_view
      rule;  // "M24" (section 13), "D19" (section 11), or the section of spec/drafter.md
  std::string_view what;   // what the implementation does
  std::string_view fix;    // what it should do
  std::string_view shows;  // the first stage that it changes, and when it changes none
  // Whether it could change anything here; that it does is for a comparison to see.
  bool (*applies)(const Situation& situation);
};

// Every mistake once, in the order of the enum.
std::span<const MistakeInfo> AllMistakes();
const MistakeInfo& InfoOf(Mistake mistake);

}  // namespace draftmark::plain

#endif  // DRAFTMARK_CONFORMANCE_PLAIN_MISTAKES_H_
