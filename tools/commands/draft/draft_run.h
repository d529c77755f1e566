// The run behind `draftmark draft`: a drafter on generated weights or on those of a checkpoint, on
// the reference or on the GPU.
//
//   DM_ASSIGN_OR_RETURN(const DraftReport report,
//                       RunDraft({.config = path, .entry = "name"}, [](const DraftReport&) {}));
//
// Two steps: the first fills the context, the second adds what a verification of a few drafts
// would (AddGeneratedSteps). Generated weights and the first band's inputs follow from the seed, so that both
// backends compute the same draft; the inputs of band b are those of seed + b.
#ifndef DRAFTMARK_TOOLS_COMMANDS_DRAFT_DRAFT_RUN_H_
#define DRAFTMARK_TOOLS_COMMANDS_DRAFT_DRAFT_RUN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "conformance/cuda/timed_draft.h"
#include "conformance/drafts/local_oracle.h"
#include "src/base/status.h"

namespace draftmark {

struct DraftOptions {
  std::string config;
  std::string entry;
  std::string weights;         // checkpoint in Hugging Face layout; empty: generated
  std::string target_weights;  // the same, of the target (OpenDrafterCheckpoint); may be empty
  std::string backend = "reference";  // or "cuda"
  std::string precision = "bf16";     // or "exact"; bf16 only on the GPU
  std::uint64_t context = 64;         // rows of the first step; positions fit 31 bits
  std::uint64_t seed = 1;             // of generated weights and of inputs
  std::uint64_t bands = 1;            // 1 to 64, one batch of a drafter
  std::optional<std::uint64_t> gamma = std::nullopt;  // 2 to 32; default: the block as trained
  bool check = false;  // every stage of every band by formulas written apart
};

struct DraftStepReport {
  std::uint64_t context_rows = 0;                  // new ones, of each band
  double seconds = 0;                              // of the propose; on the GPU its own time
  std::size_t stages = 0;                          // read of each band; 0: none were
  std::vector<std::vector<std::uint32_t>> tokens;  // by band
  LocalFindings findings;                          // of all bands, with `check`
};

struct DraftReport {
  std::string case_id;
  std::uint64_t gamma = 0;
  std::string device;                       // in words; empty: the reference
  std::optional<DeviceBytes> device_bytes;  // of the GPU
  double weights_seconds = 0;               // to make or load them where the backend needs them
  std::vector<DraftStepReport> steps;
};

// Told what there is so far: once when the weights are there, and again after each step.
using OnDraftProgress = std::function<void(const DraftReport& so_far)>;

// Errors: INVALID_ARGUMENT for options out of range or that do not go together, before anything is
// read; those of FindRunnableEntry for what is not to be run, UNAVAILABLE without a GPU, and those
// of the checkpoint and of the backend. DATA_LOSS for a NaN in a stage that is read. A stage that
// is off is none: its step's findings name it.
StatusOr<DraftReport> RunDraft(const DraftOptions& options, const OnDraftProgress& on_progress);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_DRAFT_DRAFT_RUN_H_
