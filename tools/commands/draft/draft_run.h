// The run behind `draftmark draft`: a drafter on generated weights, on the reference or on the GPU.
//
//   DM_ASSIGN_OR_RETURN(const DraftReport report, RunDraft({.config = path, .entry = "name"}));
//
// Two steps: the first fills the context, the second adds what a verification of a few drafts
// would (AddGeneratedSteps). Weights and the first band's inputs follow from the seed, so that both
// backends compute the same draft; the inputs of band b are those of seed + b.
#ifndef DRAFTMARK_TOOLS_COMMANDS_DRAFT_DRAFT_RUN_H_
#define DRAFTMARK_TOOLS_COMMANDS_DRAFT_DRAFT_RUN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/cuda/generated_draft.h"
#include "conformance/drafts/local_oracle.h"
#include "src/base/status.h"

namespace draftmark {

struct DraftOptions {
  std::string config;
  std::string entry;
  std::string backend = "reference";  // or "cuda"
  std::string precision = "bf16";     // or "exact"; bf16 only on the GPU
  std::uint64_t context = 64;         // rows of the first step
  std::uint64_t seed = 1;             // of weights and inputs
  std::uint64_t bands = 1;
  std::optional<std::uint64_t> gamma = std::nullopt;  // default: the block as trained
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
  double weights_seconds = 0;               // to generate them, where the backend needs them
  std::vector<DraftStepReport> steps;
};

// Errors: those of FindRunnableEntry for what is not to be run, INVALID_ARGUMENT for options that do
// not go together, UNAVAILABLE without a GPU, and those of the backend. A stage that is off is none:
// its step's findings name it.
StatusOr<DraftReport> RunDraft(const DraftOptions& options);

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_DRAFT_DRAFT_RUN_H_
