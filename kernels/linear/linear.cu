#include <functional>

#include "kernels/device/arguments.h"
#include "kernels/linear/linear.h"
#include "kernels/linear/linear_traits.h"
#include "kernels/linear/sm80_linear_epilogue.cuh"
#include "kernels/linear/sm80_skinny_linear.cuh"

namespace draftmark::kernels {
namespace {

static_assert(LinearTraits::kLibraryWorkspaceBytes == kCublasLtWorkspaceBytes);

std::int64_t StrideOf(const LinearArgs& args) { return args.y_stride > 0 ? args.y_stride : args.n; }

LinearEpilogue EpilogueOf(const LinearArgs& args) {
  return {.bias = args.bias,
          .multiplier = args.multiplier,
          .softcap = args.softcap,
          .y = args.y,
          .n = args.n,
          .y_stride = StrideOf(args)};
}

bool LibraryFits(const LinearArgs& args) {
  return args.n % LinearTraits::kLibraryMultiple == 0 &&
         args.k % LinearTraits::kLibraryMultiple == 0 &&
         args.y_stride % LinearTraits::kLibraryMultiple == 0 &&
         CanVectorise({args.x, args.weight, args.bias, args.y}, {});
}

Status Check(const LinearArgs& args, bool by_library) {
  return ArgumentCheck("linear")
      .Size("rows", args.rows, 1, kMostBlocksYZ)
      .Size("n", args.n)
      .Size("k", args.k, 1, INT32_MAX / 2)
      .Pointer("x", args.x)
      .Pointer("weight", args.weight)
      .Pointer("y", args.y)
      .Rule(args.softcap >= 0, "softcap is not negative")
      .Size("y_stride", args.y_stride, 0, INT64_MAX)
      .Rule(StrideOf(args) >= args.n, "y_stride holds a row")
      .Workspace(
          args.workspace, args.workspace_bytes,
          by_library ? LinearTraits::WorkspaceBytes(args.rows, args.n, NeedsEpilogue(args)) : 0)
      .status();
}

// Without its result.
GemmArgs ProductOf(const LinearArgs& args) {
  return {.x = args.x,
          .weight = args.weight,
          .rows = args.rows,
          .n = args.n,
          .k = args.k,
          .workspace = args.workspace,
          .workspace_bytes = LinearTraits::kLibraryWorkspaceBytes};
}

Status ByLibrary(const LinearArgs& args, CublasLt& library, cudaStream_t stream) {
  GemmArgs gemm = ProductOf(args);
  if (!NeedsEpilogue(args)) {
    gemm.bias = args.bias;
    gemm.alpha = args.multiplier;
    gemm.y = args.y;
    gemm.y_stride = args.y_stride;
    return library.Multiply(gemm, stream);
  }
  auto* const sums = reinterpret_cast<float*>(static_cast<char*>(args.workspace) +
                                              LinearTraits::kLibraryWorkspaceBytes);
  gemm.output = GemmOutput::kF32;
  gemm.y = sums;
  DM_RETURN_IF_ERROR(library.Multiply(gemm, stream));
  const std::int64_t chunks = args.rows * args.n / kChunk;
  LinearEpilogueKernel<<<Blocks(chunks, kEpilogueThreads), kEpilogueThreads, 0, stream>>>(
      sums, EpilogueOf(args), chunks);
  return LaunchStatus("linear, epilogue");
}

}  // namespace

bool NeedsEpilogue(const LinearArgs& args) {
  return args.softcap > 0 || (args.multiplier != 1 && args.bias != nullptr);
}

Status LaunchLinear(const LinearArgs& args, CublasLt* library, cudaStream_t stream) {
  if (args.rows == 0) return OkStatus();
  const bool by_library = library != nullptr && LibraryFits(args);
  DM_RETURN_IF_ERROR(Check(args, by_library));
  if (by_library) {
    const Status status = ByLibrary(args, *library, stream);
    if (status.code() != StatusCode::kUnimplemented) return status;
  }
  LaunchSkinnyLinear({.x = args.x,
                      .weight = args.weight,
                      .x_stride = args.k,
                      .rows = args.rows,
                      .n = args.n,
                      .k = args.k},
                     EpilogueOf(args), stream);
  return LaunchStatus("linear");
}

Status LaunchLinears(const LinearArgs& first, const LinearSteps& steps, CublasLt* library,
                     cudaStream_t stream) {
  if (first.rows == 0 || steps.count == 0) return OkStatus();
  DM_RETURN_IF_ERROR(ArgumentCheck("linears")
                         .Size("count", steps.count, 1, INT32_MAX)
                         .Size("weight step", steps.weight, 0, INT64_MAX)
                         .Size("bias step", steps.bias, 0, INT64_MAX)
                         .Size("y step", steps.y, 0, INT64_MAX)
                         .status());
  constexpr std::int64_t kMultiple = LinearTraits::kLibraryMultiple;
  const bool plain = first.bias == nullptr && first.softcap == 0 && first.multiplier == 1;
  if (plain && library != nullptr && LibraryFits(first) && steps.weight % kMultiple == 0 &&
      steps.y % kMultiple == 0) {
    DM_RETURN_IF_ERROR(Check(first, true));
    GemmArgs gemm = ProductOf(first);
    gemm.y = first.y;
    gemm.y_stride = first.y_stride;
    gemm.count = steps.count;
    gemm.weight_step = steps.weight;
    gemm.y_step = steps.y;
    const Status status = library->Multiply(gemm, stream);
    if (status.code() != StatusCode::kUnimplemented) return status;
  }
  LinearArgs one = first;
  for (std::int64_t i = 0; i < steps.count; ++i) {
    DM_RETURN_IF_ERROR(LaunchLinear(one, library, stream));
    one.weight += steps.weight;
    if (one.bias != nullptr) one.bias += steps.bias;
    one.y += steps.y;
  }
  return OkStatus();
}

Status LaunchLinearPair(const LinearArgs& first, const BFloat16* second_weight,
                        const BFloat16* second_bias, BFloat16* second_y, CublasLt* library,
                        cudaStream_t stream) {
  LinearArgs second = first;
  second.weight = second_weight;
  second.bias = second_bias;
  second.y = second_y;
  // Of different allocations, too.
  const auto in_front = [](const BFloat16* a, const BFloat16* b) { return std::less<>()(a, b); };
  const bool in_order = in_front(first.weight, second_weight);
  const LinearArgs& low = in_order ? first : second;
  const LinearArgs& high = in_order ? second : first;
  const bool together = first.bias == nullptr && second_bias == nullptr &&
                        second_weight != nullptr && second_y != nullptr && in_front(low.y, high.y);
  if (together) {
    return LaunchLinears(low, {.count = 2, .weight = high.weight - low.weight, .y = high.y - low.y},
                         library, stream);
  }
  DM_RETURN_IF_ERROR(LaunchLinear(first, library, stream));
  return LaunchLinear(second, library, stream);
}

}  // namespace draftmark::kernels
