#include <algorithm>

#include "kernels/device/arguments.h"
#include "kernels/stream_linear/sm90_stream_linear.cuh"
#include "kernels/stream_linear/stream_linear.h"
#include "kernels/stream_linear/stream_linear_traits.h"
#include "kernels/stream_linear/tensor_map.h"
#include "src/cuda/cuda_status.h"

namespace draftmark::kernels {
namespace {

using Traits = StreamLinearTraits;

bool IsPair(const StreamLinearArgs& args) { return args.epilogue == StreamEpilogue::kSwiGlu; }

// A property of the current device; 0 if it cannot be told.
int DeviceAttribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  const bool ok = cudaGetDevice(&device) == cudaSuccess &&
                  cudaDeviceGetAttribute(&value, attribute, device) == cudaSuccess;
  return ok ? value : 0;
}

// How the outputs are cut: the height of tiles that gives the fullest block least to do.
struct Cut {
  int height = 0;
  int of_block = 0;
  int tiles = 0;
  int tiles_of[3] = {};
};
Cut CutOf(const StreamLinearArgs& args, std::int64_t blocks) {
  const int parts = IsPair(args) ? 1 : args.part_count;  // both of a pair are cut the same
  const int most = IsPair(args) ? Traits::kTile / 2 : Traits::kTile;
  Cut best;
  for (int height = most; height > most / 2; --height) {
    Cut cut = {.height = height};
    for (int i = 0; i < parts; ++i) {
      cut.tiles_of[i] = static_cast<int>(CeilDiv(args.parts[i].n, height));
      cut.tiles += cut.tiles_of[i];
    }
    cut.of_block = static_cast<int>(CeilDiv(cut.tiles, std::max<std::int64_t>(blocks, 1)));
    if (best.height == 0 || cut.of_block * height < best.of_block * best.height) best = cut;
  }
  return best;
}

// Segments are needed where the rows of one do not fit registers.
bool OneSegment(const StreamLinearArgs& args) {
  return Traits::Chunks(args.k) <= Traits::kMostChunks;
}

StatusOr<StreamPlan> PlanOf(const StreamLinearArgs& args, const Cut& cut) {
  StreamPlan plan;
  plan.tiles = cut.tiles;
  std::copy(std::begin(cut.tiles_of), std::end(cut.tiles_of), plan.tiles_of);
  plan.of_block = cut.of_block;
  plan.height = cut.height;
  plan.chunks = static_cast<int>(Traits::Chunks(args.k));
  plan.held = OneSegment(args) ? plan.chunks : static_cast<int>(Traits::kChunksOfSegment);
  for (int i = 0; i < args.part_count; ++i) {
    DM_RETURN_IF_ERROR(MakeWeightMap(args.parts[i].weight, args.parts[i].n, args.k, cut.height,
                                     Traits::kWarps, plan.maps[i]));
  }
  return plan;
}

template <int kColumns, int kHeld, int kTiles, bool kNorm, StreamEpilogue kEpilogue>
Status Launch(const StreamLinearArgs& args, const StreamPlan& plan, cudaStream_t stream) {
  constexpr int kBytes = Traits::kSharedBytes<kColumns>;
  auto* const kernel = StreamLinearKernel<kColumns, kHeld, kTiles, kNorm, kEpilogue>;
  DM_RETURN_IF_ERROR(
      CudaStatus(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
                 "stream_linear: cudaFuncSetAttribute"));
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(Blocks(plan.tiles, plan.of_block));
  config.blockDim = dim3(Traits::kThreads);
  config.dynamicSmemBytes = kBytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return CudaStatus(cudaLaunchKernelEx(&config, kernel, args, plan), "stream_linear");
}

template <int kColumns, int kHeld, int kTiles>
Status LaunchEpilogue(const StreamLinearArgs& args, const StreamPlan& plan, cudaStream_t stream) {
  using enum StreamEpilogue;
  if (args.epilogue == kResidual) {
    return Launch<kColumns, kHeld, kTiles, false, kResidual>(args, plan, stream);
  }
  if constexpr (kTiles == 1) {
    const bool norm = args.norm_weight != nullptr;
    if (args.epilogue == kSwiGlu) {
      return norm ? Launch<kColumns, kHeld, 1, true, kSwiGlu>(args, plan, stream)
                  : Launch<kColumns, kHeld, 1, false, kSwiGlu>(args, plan, stream);
    }
    if (norm) return Launch<kColumns, kHeld, 1, true, kStore>(args, plan, stream);
  }
  return Launch<kColumns, kHeld, kTiles, false, kStore>(args, plan, stream);
}

template <int kColumns>
Status LaunchColumns(const StreamLinearArgs& args, const StreamPlan& plan, cudaStream_t stream) {
  constexpr int kSegment = static_cast<int>(Traits::kChunksOfSegment);
  if (!OneSegment(args)) {
    return plan.of_block <= 2 ? LaunchEpilogue<kColumns, kSegment, 2>(args, plan, stream)
                              : LaunchEpilogue<kColumns, kSegment, 4>(args, plan, stream);
  }
  switch (plan.held) {
    case 1:
      return LaunchEpilogue<kColumns, 1, 1>(args, plan, stream);
    case 2:
      return LaunchEpilogue<kColumns, 2, 1>(args, plan, stream);
    case 3:
      return LaunchEpilogue<kColumns, 3, 1>(args, plan, stream);
    case 4:
      return LaunchEpilogue<kColumns, 4, 1>(args, plan, stream);
    default:
      return LaunchEpilogue<kColumns, 5, 1>(args, plan, stream);
  }
}

// The first rule that does not hold, or OK.
Status Check(const StreamLinearArgs& args, const Cut& cut) {
  const bool pair = IsPair(args);
  const bool residual = args.epilogue == StreamEpilogue::kResidual;
  ArgumentCheck check("stream_linear");
  check.Pointer("x", args.x)
      .Rule(args.softcap >= 0, "softcap is not negative")
      .Rule(OneSegment(args) || (args.norm_weight == nullptr && !pair),
            "norms and pairs have at most 5120 columns")
      .Rule(OneSegment(args) || cut.of_block <= Traits::kMostTiles,
            "a block holds the sums of its outputs")
      .Rule(args.norm_weight == nullptr || !residual, "a residual's input has no norm")
      .Rule(!pair || (args.part_count == 2 && args.parts[0].n == args.parts[1].n),
            "a pair has two parts of the same n")
      .Rule(!residual || (args.part_count == 1 && args.residual != nullptr),
            "a residual has one part")
      .Rule(CanVectorise({args.x, args.norm_weight, args.normed}, {}),
            "rows are aligned to 16 bytes");
  for (int i = 0; i < args.part_count; ++i) {
    const StreamPart& part = args.parts[i];
    check.Pointer("weight", part.weight)
        .Rule((pair && i > 0) || part.y != nullptr, "y is not null")
        .Rule(!pair || part.bias == nullptr, "a pair has no bias")
        .Rule(CanVectorise({part.weight}, {}), "weights are aligned to 16 bytes");
  }
  return check.status();
}

// Sizes alone, before anything is cut.
Status CheckSizes(const StreamLinearArgs& args) {
  ArgumentCheck check("stream_linear");
  check.Size("rows", args.rows, 1, Traits::kMostRows)
      .Size("k", args.k, Traits::kBlock, INT32_MAX / 2)
      .Rule(args.k % Traits::kBlock == 0, "k is a multiple of 64")
      .Size("part_count", args.part_count, 1, 3);
  for (int i = 0; check.status().ok() && i < args.part_count; ++i) {
    check.Size("n", args.parts[i].n, 1, INT32_MAX / 2);
  }
  return check.status();
}

std::int64_t BlocksOfDevice() { return DeviceAttribute(cudaDevAttrMultiProcessorCount); }

}  // namespace

bool StreamLinearFits(const StreamLinearArgs& args) {
  return CheckSizes(args).ok() &&
         DeviceAttribute(cudaDevAttrComputeCapabilityMajor) * 10 >= Traits::kMinimumArch &&
         Check(args, CutOf(args, BlocksOfDevice())).ok();
}

StreamPrefetch FirstWeightsOf(const StreamLinearArgs& args) {
  const Cut cut = CutOf(args, BlocksOfDevice());
  const std::int64_t row_bytes = args.k * static_cast<std::int64_t>(sizeof(BFloat16));
  StreamPrefetch first;
  first.stride = cut.of_block * cut.height * row_bytes;
  // A tile of each matrix, as long as all of it lies in the first part.
  first.bytes = static_cast<unsigned>(cut.height * row_bytes);
  first.blocks = static_cast<unsigned>(args.parts[0].n / cut.height / cut.of_block);
  first.begin[0] = args.parts[0].weight;
  if (IsPair(args)) first.begin[1] = args.parts[1].weight;
  return first;
}

Status LaunchStreamLinear(const StreamLinearArgs& args, cudaStream_t stream) {
  if (args.rows == 0) return OkStatus();
  DM_RETURN_IF_ERROR(CheckSizes(args));
  const Cut cut = CutOf(args, BlocksOfDevice());
  DM_RETURN_IF_ERROR(Check(args, cut));
  DM_ASSIGN_OR_RETURN(const StreamPlan plan, PlanOf(args, cut));
  return args.rows <= 8 ? LaunchColumns<8>(args, plan, stream)
                        : LaunchColumns<16>(args, plan, stream);
}

}  // namespace draftmark::kernels
