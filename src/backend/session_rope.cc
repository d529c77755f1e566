#include "src/backend/session_rope.h"

#include "src/faults/fault.h"

namespace draftmark {

StatusOr<RopeTable> SessionRope(const DrafterConfig& config) {
  RopeConfig rope_config = config.rope;
  if (DM_FAULT(kYarnThoughNull) && rope_config.type == "default") {
    rope_config.type = "yarn";
    rope_config.factor = 4;
    rope_config.original_max_position_embeddings = 32768;
  }
  DM_ASSIGN_OR_RETURN(RopeTable rope, MakeRopeTable(rope_config, config.head_dim));
  if (DM_FAULT(kYarnAmplitudeDropped)) rope.amplitude = 1;
  return rope;
}

}  // namespace draftmark
