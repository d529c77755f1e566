// A real drafter's checkpoint with what it shares with its target.
//
// Published drafters carry neither the embedding nor the LM head; both come from the target's
// checkpoint, under the names public checkpoints use, and a target without lm_head.weight ties it
// to its embedding. Weights are mapped, not read: LoadDrafterWeights (weights.h) checks them.
#ifndef DRAFTMARK_SRC_WEIGHTS_DRAFTER_CHECKPOINT_H_
#define DRAFTMARK_SRC_WEIGHTS_DRAFTER_CHECKPOINT_H_

#include <string>

#include "src/base/status.h"
#include "src/tensor/safetensors.h"

namespace draftmark {

// Each a file, an index or a folder in Hugging Face layout; `target_weights` may be empty if the
// drafter has an embedding of its own. Errors are those of Checkpoint::Open and AdoptTargetTensors,
// and INVALID_ARGUMENT for an embedding that nobody has.
StatusOr<Checkpoint> OpenDrafterCheckpoint(const std::string& weights,
                                           const std::string& target_weights);

// Lets a drafter read the embedding and the LM head of its target where it has none of its own.
// NOT_FOUND if the target has no embedding either.
Status AdoptTargetTensors(const Checkpoint& target, Checkpoint& drafter);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_WEIGHTS_DRAFTER_CHECKPOINT_H_
