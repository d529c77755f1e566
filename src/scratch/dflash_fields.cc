#include "src/scratch/dflash_fields.h"

namespace draftmark {

std::string_view DflashMemoryName(DflashMemory memory) {
  switch (memory) {
    case DflashMemory::kDevice:
      return "device";
    case DflashMemory::kHostPinned:
      return "host pinned";
    case DflashMemory::kEvent:
      return "event";
  }
  return "unknown";
}

std::string_view NullRuleText(NullRule rule) {
  switch (rule) {
    case NullRule::kNever:
      return "never";
    case NullRule::kNoMarkovRank:
      return "if markov_rank is 0";
    case NullRule::kNoConfidenceTensor:
      return "without confidence weights";
    case NullRule::kNoSelectorTensor:
      return "without selector weights";
  }
  return "unknown";
}

std::string_view PointerStabilityText(PointerStability stability) {
  switch (stability) {
    case PointerStability::kStable:
      return "stable";
    case PointerStability::kEager:
      return "eager only";
    case PointerStability::kIfCopyIsCaptured:
      return "stable if the copy is captured";
    case PointerStability::kNoPointer:
      return "no pointer";
  }
  return "unknown";
}

}  // namespace draftmark
