// The RoPE table of a draft session, the same for every backend (spec/drafter.md section 4.2).
#ifndef DRAFTMARK_SRC_BACKEND_SESSION_ROPE_H_
#define DRAFTMARK_SRC_BACKEND_SESSION_ROPE_H_

#include "src/base/status.h"
#include "src/config/drafter_config.h"
#include "src/config/rope_table.h"

namespace draftmark {

// Errors: those of MakeRopeTable.
StatusOr<RopeTable> SessionRope(const DrafterConfig& config);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BACKEND_SESSION_ROPE_H_
