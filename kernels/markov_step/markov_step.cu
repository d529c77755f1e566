#include "kernels/device/arguments.h"
#include "kernels/linear/sm80_skinny_linear.cuh"
#include "kernels/markov_step/markov_step.h"
#include "kernels/markov_step/markov_step_traits.h"
#include "kernels/markov_step/sm80_markov_step.cuh"
#include "kernels/row_gather/row_gather.h"

namespace draftmark::kernels {
namespace {

constexpr int kThreads = MarkovStepTraits::kThreads;

// Where the workspace holds what.
struct Workspace {
  BFloat16* joined = nullptr;
  BFloat16* projected = nullptr;
  BFloat16* latent = nullptr;
};

Workspace WorkspaceOf(const MarkovStepArgs& args) {
  using Traits = MarkovStepTraits;
  char* const joined = static_cast<char*>(args.workspace);
  char* const projected = joined + Traits::JoinedBytes(args.rows, args.h, args.r);
  char* const latent = projected + Traits::ProjectedBytes(args.rows, args.r);
  return {reinterpret_cast<BFloat16*>(joined), reinterpret_cast<BFloat16*>(projected),
          reinterpret_cast<BFloat16*>(latent)};
}

Status Check(const MarkovStepArgs& args, std::int64_t sequences) {
  const bool vanilla = args.type == MarkovHeadType::kVanilla;
  const bool rnn = args.type == MarkovHeadType::kRnn;
  ArgumentCheck check("markov_step");
  check.Size("rows", args.rows, 1, kMostBlocksYZ)
      .Size("v", args.v)
      .Size("r", args.r, 1, INT32_MAX / 8)
      .Size("row_step", args.row_step)
      .Pointer("previous", args.previous)
      .Pointer("w1", args.w1)
      .Pointer("w2", args.w2)
      .Pointer("embedding", args.embedding)
      .Pointer("logits", args.logits);
  if (vanilla) return check.status();
  check.Size("h", args.h, 1, INT32_MAX / 8)
      .Pointer("hidden", args.hidden)
      .Pointer("projection", args.projection)
      .Pointer("projection_bias", args.projection_bias);
  if (rnn) {
    check.Pointer("state", args.state)
        .Size("sequences", sequences)
        .Rule(sequences > 0 && args.rows % sequences == 0, "sequences divides rows")
        .Rule(sequences == args.rows || args.row_step == 1, "rows of several steps are dense");
  }
  return check
      .Workspace(args.workspace, args.workspace_bytes,
                 check.status().ok()
                     ? MarkovStepTraits::WorkspaceBytes(false, args.rows, args.h, args.r)
                     : 0)
      .status();
}

// gate = Wg [y; e] + bg for all rows at once.
Status Gate(const MarkovStepArgs& args, const Workspace& workspace, cudaStream_t stream) {
  const std::int64_t width = args.h + args.r;
  MarkovJoinKernel<<<Blocks(args.rows, 1), kThreads, 0, stream>>>(
      {args.hidden, args.row_step * args.h, args.h}, {args.embedding, args.r, args.r}, {},
      workspace.joined);
  DM_RETURN_IF_ERROR(LaunchStatus("markov_step, join"));
  LaunchSkinnyLinear({.x = workspace.joined,
                      .weight = args.projection,
                      .x_stride = width,
                      .rows = args.rows,
                      .n = args.r,
                      .k = width},
                     MarkovProjectionEpilogue{args.projection_bias, workspace.projected, args.r},
                     stream);
  DM_RETURN_IF_ERROR(LaunchStatus("markov_step, gate"));
  const std::int64_t count = args.rows * args.r;
  MarkovGateKernel<<<Blocks(count, kThreads), kThreads, 0, stream>>>(
      workspace.projected, args.embedding, workspace.latent, count);
  return LaunchStatus("markov_step, latent");
}

// One step of the recurrence: rows [first, first + sequences).
Status Recur(const MarkovStepArgs& args, const Workspace& workspace, std::int64_t first,
             std::int64_t sequences, cudaStream_t stream) {
  const std::int64_t width = args.h + 2 * args.r;
  MarkovJoinKernel<<<Blocks(sequences, 1), kThreads, 0, stream>>>(
      {args.state, args.r, args.r}, {args.embedding + first * args.r, args.r, args.r},
      {args.hidden + first * args.row_step * args.h, args.row_step * args.h, args.h},
      workspace.joined);
  DM_RETURN_IF_ERROR(LaunchStatus("markov_step, join"));
  LaunchSkinnyLinear(
      {.x = workspace.joined,
       .weight = args.projection,
       .x_stride = width,
       .rows = sequences,
       .n = 3 * args.r,
       .k = width},
      MarkovProjectionEpilogue{args.projection_bias, workspace.projected, 3 * args.r}, stream);
  DM_RETURN_IF_ERROR(LaunchStatus("markov_step, joint"));
  const std::int64_t count = sequences * args.r;
  MarkovRecurrenceKernel<<<Blocks(count, kThreads), kThreads, 0, stream>>>(
      workspace.projected, args.state, workspace.latent + first * args.r, args.r, count);
  return LaunchStatus("markov_step, recurrence");
}

}  // namespace

Status LaunchMarkovStep(const MarkovStepArgs& args, cudaStream_t stream) {
  if (args.rows == 0) return OkStatus();
  const std::int64_t sequences = args.sequences == 0 ? args.rows : args.sequences;
  DM_RETURN_IF_ERROR(Check(args, sequences));
  DM_RETURN_IF_ERROR(LaunchRowGather({.index = args.previous,
                                      .table = args.w1,
                                      .out = args.embedding,
                                      .rows = args.rows,
                                      .from = args.v,
                                      .width = args.r,
                                      .index_step = args.row_step},
                                     stream)
                         .Annotated("markov_step"));
  const BFloat16* latent = args.embedding;
  if (args.type != MarkovHeadType::kVanilla) {
    const Workspace workspace = WorkspaceOf(args);
    latent = workspace.latent;
    if (args.type == MarkovHeadType::kGated) {
      DM_RETURN_IF_ERROR(Gate(args, workspace, stream));
    } else {
      for (std::int64_t first = 0; first < args.rows; first += sequences) {
        DM_RETURN_IF_ERROR(Recur(args, workspace, first, sequences, stream));
      }
    }
  }
  LaunchSkinnyLinear({.x = latent,
                      .weight = args.w2,
                      .x_stride = args.r,
                      .rows = args.rows,
                      .n = args.v,
                      .k = args.r},
                     MarkovBiasEpilogue{args.bias, args.logits, args.v, args.row_step * args.v},
                     stream);
  return LaunchStatus("markov_step");
}

}  // namespace draftmark::kernels
