// The heads of DSpark.
#include "kernels/confidence/confidence.h"
#include "kernels/markov_step/markov_step.h"
#include "kernels/markov_step/markov_step_traits.h"
#include "kernels/registry/bindings.h"
#include "src/cuda/cuda_status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {
namespace {

// The rows of a case are the steps of one sequence; its state stands in front of the launcher's
// workspace.
std::uint64_t StateBytes(const OperationCase& c) {
  if (static_cast<MarkovHeadType>(c["type"]) != MarkovHeadType::kRnn) return 0;
  return MarkovStepTraits::LatentBytes(/*rows=*/1, Size(c, "r"));
}

std::uint64_t MarkovWorkspace(const OperationCase& c) {
  const bool vanilla = static_cast<MarkovHeadType>(c["type"]) == MarkovHeadType::kVanilla;
  return StateBytes(c) +
         MarkovStepTraits::WorkspaceBytes(vanilla, Size(c, "rows"), Size(c, "h"), Size(c, "r"));
}

Status MarkovStep(const OperationCase& c, const DeviceOperands& operands,
                  const LaunchContext& context) {
  const auto type = static_cast<MarkovHeadType>(c["type"]);
  const bool rnn = type == MarkovHeadType::kRnn;
  const std::uint64_t state_bytes = StateBytes(c);
  if (rnn) {
    DM_RETURN_IF_ERROR(
        CudaStatus(cudaMemsetAsync(context.workspace, 0, state_bytes, context.stream),
                   "markov_step: cudaMemsetAsync"));
  }
  return LaunchMarkovStep(
      {.type = type,
       .previous = operands.Get<std::uint32_t>("previous"),
       .hidden = operands.Get<BFloat16>("hidden"),
       .w1 = operands.Get<BFloat16>("w1"),
       .w2 = operands.Get<BFloat16>("w2"),
       .projection = operands.Get<BFloat16>(rnn ? "joint_proj" : "gate_proj"),
       .projection_bias = operands.Get<BFloat16>(rnn ? "joint_bias" : "gate_bias"),
       .state = static_cast<BFloat16*>(context.workspace),
       .embedding = operands.Get<BFloat16>("embedding"),
       .bias = operands.Get<BFloat16>("bias"),
       .logits = operands.Get<BFloat16>("logits"),
       .rows = Size(c, "rows"),
       .v = Size(c, "v"),
       .r = Size(c, "r"),
       .h = Size(c, "h"),
       .sequences = rnn ? 1 : 0,
       .workspace = static_cast<std::byte*>(context.workspace) + state_bytes,
       .workspace_bytes = context.workspace_bytes - state_bytes},
      context.stream);
}

Status Confidence(const OperationCase& c, const DeviceOperands& operands,
                  const LaunchContext& context) {
  return LaunchConfidence({.hidden = operands.Get<BFloat16>("hidden"),
                           .embedding = operands.Get<BFloat16>("embedding"),
                           .proj = operands.Get<BFloat16>("proj"),
                           .bias = operands.Get<BFloat16>("bias"),
                           .kappa = operands.Get<BFloat16>("kappa"),
                           .rows = Size(c, "rows"),
                           .h = Size(c, "h"),
                           .r = Size(c, "r")},
                          context.stream);
}

}  // namespace

std::vector<DeviceOperation> HeadBindings() {
  return {{"markov_step", MarkovWorkspace, MarkovStep}, {"confidence", NoWorkspace, Confidence}};
}

}  // namespace draftmark::kernels
