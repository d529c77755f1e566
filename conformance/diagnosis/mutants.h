// Which of the mistakes that are not seen in every dump are seen at all: each mutant of
// spec/drafter.md section 13, and the disagreements of section 11 that are no mistake of a stage.
// Constant data, thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_DIAGNOSIS_MUTANTS_H_
#define DRAFTMARK_CONFORMANCE_DIAGNOSIS_MUTANTS_H_

#include <span>
#include <string_view>

namespace draftmark {

enum class Visibility {
  kNamed,      // a hypothesis reproduces it: conformance/plain/mistakes.h
  kLocated,    // the stage is found, but what was done cannot be reproduced from the inputs
  kInvisible,  // no stage differs
};
std::string_view VisibilityName(Visibility visibility);

struct MutantInfo {
  std::string_view id;  // "M2", "D18"
  std::string_view what;
  Visibility visibility;
  std::string_view reason;  // why not named, or what of it is only located
};

std::span<const MutantInfo> AllMutants();

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_DIAGNOSIS_MUTANTS_H_
