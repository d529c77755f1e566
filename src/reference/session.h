// The reference backend: the definition of right. See src/backend/draft_session.h for how to drive
// it.
#ifndef DRAFTMARK_SRC_REFERENCE_SESSION_H_
#define DRAFTMARK_SRC_REFERENCE_SESSION_H_

#include <memory>

#include "src/backend/draft_session.h"
#include "src/base/status.h"
#include "src/config/drafter_config.h"
#include "src/reference/weights.h"

namespace draftmark::reference {

// Opens a session on the CPU. `weights` must match `config` (LoadDrafterWeights checks that).
// Errors: INVALID_ARGUMENT for limits that cannot hold one block or an impossible rotary width,
// OUT_OF_RANGE for a cache beyond all memory.
StatusOr<std::unique_ptr<DraftSession>> OpenReferenceSession(
    const DrafterConfig& config, std::shared_ptr<const DrafterWeights> weights,
    const SessionLimits& limits, Precision precision);

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_SESSION_H_
