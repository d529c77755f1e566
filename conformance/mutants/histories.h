// Histories: what happens to sequences over several proposes, on small random drafters. The plain
// forward says what must come of each (history_checks.cc).
#ifndef DRAFTMARK_CONFORMANCE_MUTANTS_HISTORIES_H_
#define DRAFTMARK_CONFORMANCE_MUTANTS_HISTORIES_H_

#include <memory>
#include <string>
#include <vector>

#include "conformance/plain/forward.h"
#include "src/backend/draft_session.h"
#include "src/base/status.h"
#include "src/config/drafter_config.h"
#include "src/weights/weights.h"

namespace draftmark {

struct History {
  std::string name;
  DrafterConfig config;
  std::shared_ptr<const DrafterWeights> weights;
  SessionLimits limits;
  plain::Bands bands;  // every band has as many steps, and in each step all are as wide
};

std::vector<History> Histories();
// Eight bands of eight rows in a window of 16: more block rows than the window has.
History ManyBands();

// Appends and drops what step `s` does, in every band, and returns the requests of its propose.
StatusOr<std::vector<BlockRequest>> EnterStep(const History& history, std::size_t s,
                                              DraftSession& session);

// The small drafters that histories are of: "plain", "conv" (DFlash2), "markov" (DSpark).
DrafterConfig HistoryConfig(const std::string& kind);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_MUTANTS_HISTORIES_H_
