// What a launcher would refuse only when a propose is half enqueued, told when a session is opened.
#ifndef DRAFTMARK_KERNELS_DRAFT_SESSION_CHECKS_H_
#define DRAFTMARK_KERNELS_DRAFT_SESSION_CHECKS_H_

#include "kernels/draft/draft_weights.h"
#include "src/backend/draft_session.h"
#include "src/base/status.h"
#include "src/config/drafter_config.h"

namespace draftmark::kernels {

// INVALID_ARGUMENT, with the field: more rows, wider heads or other candidates than the kernels take. `paged`: with
// a cache.
Status CheckKernelLimits(const DrafterConfig& config, const DraftWeights& weights,
                         const SessionLimits& limits, bool paged);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_SESSION_CHECKS_H_
