#include <algorithm>

#include "kernels/device/arguments.h"
#include "kernels/stream_chain/sm90_stream_chain.cuh"
#include "kernels/stream_chain/stream_chain.h"
#include "kernels/stream_chain/stream_chain_traits.h"
#include "kernels/stream_chain/tensor_map.h"
#include "src/cuda/cuda_status.h"

namespace draftmark::kernels {
namespace {

using Traits = StreamChainTraits;

bool IsPair(const StreamLinear& step) { return step.epilogue == StreamEpilogue::kSwiGlu; }

// A property of the current device; 0 if it cannot be told.
int DeviceAttribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  const bool ok = cudaGetDevice(&device) == cudaSuccess &&
                  cudaDeviceGetAttribute(&value, attribute, device) == cudaSuccess;
  return ok ? value : 0;
}
std::int64_t BlocksOfDevice() { return DeviceAttribute(cudaDevAttrMultiProcessorCount); }

// How the outputs are cut: the height of tiles that gives the fullest block least to do.
struct Cut {
  int height = 0;
  int of_block = 0;
  int tiles = 0;
  int tiles_of[3] = {};
};
Cut CutOf(const StreamLinear& step, std::int64_t blocks) {
  const int parts = IsPair(step) ? 1 : step.part_count;  // both of a pair are cut the same
  const int most = IsPair(step) ? Traits::kTile / 2 : Traits::kTile;
  Cut best;
  for (int height = most; height > most / 2; --height) {
    Cut cut = {.height = height};
    for (int i = 0; i < parts; ++i) {
      cut.tiles_of[i] = static_cast<int>(CeilDiv(step.parts[i].n, height));
      cut.tiles += cut.tiles_of[i];
    }
    cut.of_block = static_cast<int>(CeilDiv(cut.tiles, std::max<std::int64_t>(blocks, 1)));
    if (best.height == 0 || cut.of_block * height < best.of_block * best.height) best = cut;
  }
  return best;
}

// Segments are needed where the rows of one do not fit registers.
bool OneSegment(const StreamLinear& step) {
  return Traits::Chunks(step.k) <= Traits::kMostChunks;
}

// Sizes alone, before anything is cut.
Status CheckSizes(const StreamLinear& step) {
  ArgumentCheck check("stream_chain");
  check.Size("rows", step.rows, 1, Traits::kMostRows)
      .Size("k", step.k, Traits::kBlock, INT32_MAX / 2)
      .Rule(step.k % Traits::kBlock == 0, "k is a multiple of 64")
      .Size("part_count", step.part_count, 1, 3);
  for (int i = 0; check.status().ok() && i < step.part_count; ++i) {
    check.Size("n", step.parts[i].n, 1, INT32_MAX / 2);
  }
  return check.status();
}

// The first rule that does not hold, or OK.
Status Check(const StreamLinear& step, const Cut& cut) {
  const bool pair = IsPair(step);
  const bool residual = step.epilogue == StreamEpilogue::kResidual;
  ArgumentCheck check("stream_chain");
  check.Pointer("x", step.x)
      .Rule(step.softcap >= 0, "softcap is not negative")
      .Rule(OneSegment(step) || (step.norm_weight == nullptr && !pair),
            "norms and pairs have at most 5120 columns")
      .Rule(OneSegment(step) || cut.of_block <= Traits::kMostTiles,
            "a block holds the sums of its outputs")
      .Rule(step.normed != step.x, "normed rows go elsewhere")
      .Rule(!pair || (step.part_count == 2 && step.parts[0].n == step.parts[1].n),
            "a pair has two parts of the same n")
      .Rule(!residual || (step.part_count == 1 && step.residual != nullptr),
            "a residual has one part")
      .Rule(CanVectorise({step.x, step.norm_weight, step.normed}, {}),
            "rows are aligned to 16 bytes");
  for (int i = 0; i < step.part_count; ++i) {
    const StreamPart& part = step.parts[i];
    check.Pointer("weight", part.weight)
        .Rule((pair && i > 0) || part.y != nullptr, "y is not null")
        .Rule(!pair || part.bias == nullptr, "a pair has no bias")
        .Rule(CanVectorise({part.weight}, {}), "weights are aligned to 16 bytes");
  }
  return check.status();
}

Status CheckHeads(const StreamHeads& heads) {
  return ArgumentCheck("stream_chain, heads")
      .Size("rows", heads.rows)
      .Size("heads", heads.heads)
      .Size("d", heads.d, 1, Traits::kMostHeadDim)
      .Pointer("x", heads.x)
      .Rule(heads.frequency == nullptr || heads.positions != nullptr, "RoPE has positions")
      .Rule(heads.frequency == nullptr || heads.rotary / 2 + heads.partner <= heads.d,
            "pairs lie in the head")
      .Rule(heads.pool == nullptr || (heads.slots64 == nullptr) != (heads.slots32 == nullptr),
            "a pool has slots of one width")
      .Rule(heads.slot_positions == nullptr || heads.positions != nullptr,
            "slot positions have positions")
      .status();
}

// Fills one step; *held and *tiles grow to what the kernel must hold.
Status FillLinear(const StreamLinear& linear, StreamStep& step, int& held, int& tiles) {
  DM_RETURN_IF_ERROR(CheckSizes(linear));
  const Cut cut = CutOf(linear, BlocksOfDevice());
  DM_RETURN_IF_ERROR(Check(linear, cut));
  step.linear = linear;
  step.tiles = cut.tiles;
  std::copy(std::begin(cut.tiles_of), std::end(cut.tiles_of), step.tiles_of);
  step.of_block = cut.of_block;
  step.height = cut.height;
  step.chunks = static_cast<int>(Traits::Chunks(linear.k));
  step.held = OneSegment(linear) ? step.chunks : static_cast<int>(Traits::kChunksOfSegment);
  held = std::max(held, step.held);
  if (!OneSegment(linear)) tiles = std::max(tiles, step.of_block);
  for (int i = 0; i < linear.part_count; ++i) {
    DM_RETURN_IF_ERROR(MakeWeightMap(linear.parts[i].weight, linear.parts[i].n, linear.k,
                                     cut.height, Traits::kWarps, step.maps[i]));
  }
  return OkStatus();
}

template <int kColumns, int kHeld, int kTiles>
Status Launch(const StreamChainArgs& args, cudaStream_t stream) {
  constexpr int kBytes = Traits::kSharedBytes<kColumns>;
  auto* const kernel = StreamChainKernel<kColumns, kHeld, kTiles>;
  DM_RETURN_IF_ERROR(
      CudaStatus(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
                 "stream_chain: cudaFuncSetAttribute"));
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  // One for each SM, so that all are there when they wait for each other.
  config.gridDim = dim3(static_cast<unsigned>(BlocksOfDevice()));
  config.blockDim = dim3(Traits::kThreads);
  config.dynamicSmemBytes = kBytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return CudaStatus(cudaLaunchKernelEx(&config, kernel, args), "stream_chain");
}

template <int kColumns>
Status LaunchColumns(const StreamChainArgs& args, int held, int tiles, cudaStream_t stream) {
  if (held <= 3) {
    return tiles <= 2 ? Launch<kColumns, 3, 2>(args, stream) : Launch<kColumns, 3, 3>(args, stream);
  }
  if (held == 4) {
    return tiles <= 2 ? Launch<kColumns, 4, 2>(args, stream) : Launch<kColumns, 4, 3>(args, stream);
  }
  return tiles <= 2 ? Launch<kColumns, 5, 2>(args, stream) : Launch<kColumns, 5, 3>(args, stream);
}

}  // namespace

bool StreamLinearFits(const StreamLinear& step) {
  return CheckSizes(step).ok() &&
         DeviceAttribute(cudaDevAttrComputeCapabilityMajor) * 10 >= Traits::kMinimumArch &&
         Check(step, CutOf(step, BlocksOfDevice())).ok();
}

Status LaunchStreamChain(const StreamChain& chain, unsigned* counter, cudaStream_t stream) {
  if (chain.steps().empty()) return OkStatus();
  DM_RETURN_IF_ERROR(
      ArgumentCheck("stream_chain")
          .Size("steps", static_cast<std::int64_t>(chain.steps().size()), 1, Traits::kMostSteps)
          .Pointer("counter", counter)
          .status());
  StreamChainArgs args;
  args.counter = counter;
  int held = 1, tiles = 1, heads = 0;
  std::int64_t rows = 1;
  for (const StreamChain::Step& given : chain.steps()) {
    StreamStep& step = args.steps[args.count++];
    if (!given.linear.empty()) {
      DM_RETURN_IF_ERROR(FillLinear(given.linear.front(), step, held, tiles));
      rows = std::max(rows, given.linear.front().rows);
      continue;
    }
    step.first_heads = heads;
    DM_RETURN_IF_ERROR(ArgumentCheck("stream_chain")
                           .Size("heads", heads + static_cast<std::int64_t>(given.heads.size()), 1,
                                 Traits::kMostHeadSteps)
                           .status());
    for (const StreamHeads& one : given.heads) {
      DM_RETURN_IF_ERROR(CheckHeads(one));
      args.heads[heads++] = one;
    }
    step.last_heads = heads;
  }
  return rows <= 8 ? LaunchColumns<8>(args, held, tiles, stream)
                   : LaunchColumns<16>(args, held, tiles, stream);
}

}  // namespace draftmark::kernels
