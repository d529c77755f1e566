#include <algorithm>
#include <array>
#include <atomic>

#include "kernels/device/arguments.h"
#include "kernels/device/dependent_launch.cuh"
#include "kernels/device/tensor_map.h"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "kernels/stream_chain/chain_checks.h"
#include "kernels/stream_chain/sm90_stream_chain.cuh"
#include "kernels/stream_chain/stream_chain.h"
#include "kernels/stream_chain/stream_chain_traits.h"
#include "src/cuda/cuda_status.h"

namespace draftmark::kernels {
namespace {

using Traits = StreamChainTraits;

// Clusters of the kernel that fit on the current device at once; 0 if it is no sm_90, or cannot be told.
int ClustersThatFit() {
  if (DeviceArch() != Traits::kMinimumArch) return 0;
  auto* const kernel = StreamChainKernel<static_cast<int>(Traits::kMostRows)>;
  constexpr int kBytes = ChainMemory<static_cast<int>(Traits::kMostRows)>::kBytes;
  if (!IsBuiltFor(kernel, Traits::kThreads)) return 0;
  if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes) !=
      cudaSuccess) {
    (void)cudaGetLastError();  // not the next launch's
    return 0;
  }
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {Traits::kCluster, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(Traits::kMostBlocks);
  config.blockDim = dim3(Traits::kThreads);
  config.dynamicSmemBytes = kBytes;
  config.attrs = &cluster;
  config.numAttrs = 1;
  int clusters = 0;
  if (cudaOccupancyMaxActiveClusters(&clusters, kernel, &config) == cudaSuccess) return clusters;
  (void)cudaGetLastError();
  return 0;
}

// Of a launch: all must be there when they wait for each other. 0 where the kernel cannot run.
std::int64_t BlocksOfDevice() {
  // By device: 0 not known yet, else one more than the clusters.
  static std::array<std::atomic<int>, 64> known = {};
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess || device < 0) return 0;
  int clusters = 0;
  if (static_cast<std::size_t>(device) >= known.size()) {
    clusters = ClustersThatFit();
  } else {
    std::atomic<int>& one = known[static_cast<std::size_t>(device)];
    if (one.load() == 0) {
      clusters = ClustersThatFit();
      // What could not be told is asked again.
      if (clusters > 0) one.store(clusters + 1);
    } else {
      clusters = one.load() - 1;
    }
  }
  return std::min<std::int64_t>(std::int64_t{clusters} * Traits::kCluster, Traits::kMostBlocks);
}

// Outputs of the fullest unit.
std::int64_t OutputsOf(const StreamCut& cut) { return std::int64_t{cut.of_unit} * cut.height; }

// Tiles of the height that gives the fullest unit least to do, of about the same one with large copies.
// A multiple of 8: that is a whole pattern of the copies' swizzle, and 16 bytes of a stored row.
void CutOutputs(const StreamLinear& step, std::int64_t units, StreamCut& best) {
  const int parts = IsPairStep(step) ? 1 : step.part_count;  // both of a pair are cut the same
  const int most = IsPairStep(step) ? Traits::kTile / 2 : Traits::kTile;
  const auto cost = [&](const StreamCut& cut) {
    const int rows = cut.height * (IsPairStep(step) ? 2 : 1);
    return static_cast<double>(OutputsOf(cut)) * (1.1 - 0.1 * rows / Traits::kTile);
  };
  for (int height = most; height >= most / 2; height -= kChunk) {
    StreamCut cut = best;
    cut.height = height;
    cut.tiles = 0;
    for (int i = 0; i < parts; ++i) {
      cut.of_group[i] = static_cast<int>(CeilDiv(step.parts[i].n, height));
      cut.tiles_of[i] = static_cast<int>(step.parts[i].groups) * cut.of_group[i];
      cut.tiles += cut.tiles_of[i];
    }
    cut.of_unit = static_cast<int>(CeilDiv(cut.tiles, std::max<std::int64_t>(units, 1)));
    if (best.height == 0 || cost(cut) < cost(best)) best = cut;
  }
}

// Bytes that the fullest block moves: weights and rows, and what a tile's sums cost beside them. For any
// number of rows the same: how a product is cut decides a row's bits.
std::int64_t CostOf(const StreamLinear& step, const StreamCut& cut) {
  const std::int64_t columns = std::int64_t{cut.first_half} * Traits::kBlock;
  const std::int64_t row_bytes = Traits::kMostRows * columns * 2;
  const bool stays = row_bytes <= Traits::kAllRowBytes;
  return OutputsOf(cut) * (IsPairStep(step) ? 2 : 1) * columns * 2 +
         row_bytes * (stays ? 1 : cut.of_unit) + std::int64_t{cut.of_unit} * 1024 * cut.split;
}

StreamCut CutOf(const StreamLinear& step, std::int64_t blocks) {
  StreamCut best;
  for (int split = 1; split <= Traits::kCluster; ++split) {
    StreamCut cut = {.split = split, .all = static_cast<int>(step.k / Traits::kBlock)};
    if (cut.all < split) continue;
    // A whole number of stages in front
    cut.first_half = split == 1 ? cut.all : static_cast<int>(CeilDiv(cut.all, 4) * 2);
    if (split == 2 && cut.first_half >= cut.all) continue;
    CutOutputs(step, blocks / split, cut);
    if (best.height == 0 || CostOf(step, cut) < CostOf(step, best)) best = cut;
  }
  return best;
}

// Both matrices in one map, as far from each other as their addresses: one copy brings both. The lower
// one comes first.
Status MakePairMap(const StreamLinear& linear, const StreamCut& cut, StreamStep& step,
                   StreamMaps& maps) {
  const BFloat16* const gate = linear.parts[0].weight;
  const BFloat16* const up = linear.parts[1].weight;
  step.up_first = up < gate;
  const std::int64_t apart = step.up_first ? gate - up : up - gate;
  return MakeTensorMap(step.up_first ? up : gate,
                       {.sizes = {Traits::kBlock, linear.parts[0].n, 2, linear.k / Traits::kBlock},
                        .strides = {linear.k, apart, Traits::kBlock},
                        .box = {Traits::kBlock, cut.height, 2, Traits::kStageBlocks}},
                       maps.parts[0]);
}

// Sizes have been checked.
StreamWork WorkOf(const StreamLinear& linear) {
  StreamWork work = {.rows = static_cast<int>(linear.rows),
                     .k = static_cast<int>(linear.k),
                     .norm_weight = linear.norm_weight,
                     .norm_sums = linear.norm_sums,
                     .norm_parts = static_cast<int>(linear.norm_parts),
                     .epsilon = linear.epsilon,
                     .normed = linear.normed,
                     .row_sums = linear.row_sums,
                     .row_best = linear.row_best,
                     .residual = linear.residual,
                     .epilogue = linear.epilogue,
                     .multiplier = linear.multiplier,
                     .softcap = linear.softcap};
  for (int i = 0; i < linear.part_count; ++i) {
    const StreamPart& part = linear.parts[i];
    work.parts[i] = {
        .bias = part.bias, .y = part.y, .n = part.n, .groups = static_cast<int>(part.groups)};
  }
  return work;
}

// `rows` of the kernel: 8 or 16.
Status FillLinear(const StreamLinear& linear, std::int64_t rows, StreamStep& step,
                  StreamMaps& maps) {
  DM_RETURN_IF_ERROR(CheckStreamLinear(linear));
  const StreamCut cut = CutOf(linear, BlocksOfDevice());
  static_cast<StreamCut&>(step) = cut;
  step.linear = WorkOf(linear);
  const std::int64_t blocks = linear.k / Traits::kBlock;
  // As many rows as the kernel has room for: what is not there reads as zero.
  DM_RETURN_IF_ERROR(MakeTensorMap(linear.x,
                                   {.sizes = {Traits::kBlock, linear.rows, 1, blocks},
                                    .strides = {linear.k, linear.k, Traits::kBlock},
                                    .box = {Traits::kBlock, rows, 1, Traits::kGroupBlocks}},
                                   maps.rows));
  if (IsPairStep(linear)) return MakePairMap(linear, cut, step, maps);
  for (int i = 0; i < linear.part_count; ++i) {
    const StreamPart& part = linear.parts[i];
    const std::int64_t step_of_group = part.groups > 1 ? part.group_step : linear.k;
    DM_RETURN_IF_ERROR(MakeTensorMap(part.weight,
                                     {.sizes = {Traits::kBlock, part.n, part.groups, blocks},
                                      .strides = {linear.k, step_of_group, Traits::kBlock},
                                      .box = {Traits::kBlock, cut.height, 1, Traits::kStageBlocks}},
                                     maps.parts[i]));
  }
  return OkStatus();
}

// How an attention step is dealt out. Who has which keys does not depend on the number of bands.
ChainAttention DealAttention(const PagedAttentionArgs& args) {
  using Attention = PagedAttentionTraits;
  ChainAttention dealt;
  dealt.args = args;
  const std::int64_t tile_rows = TileRows(args);
  const std::int64_t tiles = CeilDiv(args.rows, tile_rows);
  const std::int64_t splits = std::clamp<std::int64_t>(
      BlocksOfDevice() / (args.kv * tiles), 1, Attention::Splits(args.rows, args.heads, args.kv));
  dealt.tile_rows = static_cast<int>(tile_rows);
  dealt.tiles = static_cast<int>(tiles);
  dealt.splits = static_cast<int>(splits);
  dealt.works = static_cast<int>(args.bands * args.kv * tiles * splits);
  dealt.values_first = args.v_pool < args.k_pool;
  const std::int64_t results = args.bands * args.rows * args.heads;
  dealt.launch = {.stats = static_cast<float2*>(args.workspace),
                  .partial = reinterpret_cast<float*>(static_cast<char*>(args.workspace) +
                                                      Attention::StatsBytes(results, splits)),
                  .scale = AttentionScale(args.d),
                  .vector = true};
  return dealt;
}

// A cache block's keys and values in one map, as far from each other as the pools; nobody says how many
// slots there are. And queries: the heads of a group of some rows, 64 columns.
Status FillAttention(const ChainAttention& a, StreamMaps& maps) {
  constexpr std::int64_t kColumns = 64;
  constexpr std::int64_t kMostSlots = std::int64_t{1} << 30;
  const PagedAttentionArgs& args = a.args;
  const std::int64_t width = args.kv * args.d;
  const BFloat16* const first = a.values_first ? args.v_pool : args.k_pool;
  const BFloat16* const second = a.values_first ? args.k_pool : args.v_pool;
  DM_RETURN_IF_ERROR(
      MakeTensorMap(first,
                    {.sizes = {kColumns, kMostSlots, 2, width / kColumns},
                     .strides = {width, second - first, kColumns},
                     .box = {kColumns, PagedAttentionTraits::kBlockRows, 2, args.d / kColumns}},
                    maps.parts[0]));
  return MakeTensorMap(args.q,
                       {.sizes = {kColumns, args.heads, args.bands * args.rows, args.d / kColumns},
                        .strides = {args.d, args.heads * args.d, kColumns},
                        .box = {kColumns, args.heads / args.kv, a.tile_rows, 1}},
                       maps.rows);
}

template <int kRows>
Status Launch(const StreamChainArgs& args, cudaStream_t stream) {
  constexpr int kBytes = ChainMemory<kRows>::kBytes;
  auto* const kernel = StreamChainKernel<kRows>;
  DM_RETURN_IF_ERROR(
      CudaStatus(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
                 "stream_chain: cudaFuncSetAttribute"));
  // One for each SM, so that all are there when they wait for each other.
  return LaunchDependentClusters("stream_chain", kernel,
                                 dim3(static_cast<unsigned>(BlocksOfDevice())),
                                 dim3(Traits::kThreads), kBytes, Traits::kCluster, stream, args);
}

}  // namespace

std::int64_t StreamChainRowParts() { return BlocksOfDevice(); }

bool StreamLinearFits(const StreamLinear& step) {
  return BlocksOfDevice() > 0 && CheckStreamLinear(step).ok();
}

bool StreamAttentionFits(const PagedAttentionArgs& step) {
  return BlocksOfDevice() > 0 && CheckStreamAttention(step).ok();
}

namespace {

// Steps as the device sees them.
class ArgumentsBuilder {
 public:
  // `rows` of the kernel: 8 or 16.
  ArgumentsBuilder(std::int64_t rows, unsigned* counters) : rows_(rows) {
    args_.counters = counters;
  }
  const StreamChainArgs& args() const { return args_; }

  Status Add(const StreamChain::Step& given) {
    StreamMaps& maps = args_.maps[args_.count];
    StreamStep& step = args_.steps[args_.count];
    // Of another kind of step its own memory is still in use.
    DM_RETURN_IF_ERROR(
        ArgumentCheck("stream_chain")
            .Rule(!given.beside || args_.count == 0 || args_.steps[args_.count - 1].tiles > 0,
                  "a step beside another follows a linear one")
            .status());
    DM_RETURN_IF_ERROR(given.linear      ? FillLinear(*given.linear, rows_, step, maps)
                       : given.attention ? AddAttention(given, step, maps)
                                         : AddHeads(given.heads, step));
    step.after = args_.count - (given.beside ? 2 : 1);
    ++args_.count;
    return OkStatus();
  }

 private:
  Status AddHeads(const std::vector<StreamHeads>& heads, StreamStep& step) {
    step.first_heads = heads_;
    DM_RETURN_IF_ERROR(ArgumentCheck("stream_chain")
                           .Size("heads", heads_ + static_cast<std::int64_t>(heads.size()), 1,
                                 Traits::kMostHeadSteps)
                           .status());
    for (const StreamHeads& one : heads) {
      DM_RETURN_IF_ERROR(CheckStreamHeads(one));
      args_.heads[heads_++] = one;
    }
    step.last_heads = heads_;
    return OkStatus();
  }
  Status AddAttention(const StreamChain::Step& given, StreamStep& step, StreamMaps& maps) {
    DM_RETURN_IF_ERROR(CheckStreamAttention(*given.attention));
    DM_RETURN_IF_ERROR(ArgumentCheck("stream_chain")
                           .Size("late_keys", given.late_keys, 0, INT32_MAX / 2)
                           .status());
    ChainAttention dealt = DealAttention(*given.attention);
    dealt.late_keys = static_cast<int>(given.late_keys);
    // Items count how many of their splits have come, through all attentions of the chain.
    const int items = dealt.works / dealt.splits;
    const bool first = attentions_ == 0;
    DM_RETURN_IF_ERROR(
        ArgumentCheck("stream_chain")
            .Size("attentions", attentions_ + 1, 1, Traits::kMostAttentions)
            .Rule(first || (items == args_.items && dealt.splits == args_.attentions[0].splits),
                  "attentions of a chain have the same shape")
            .status());
    args_.items = items;
    step.attention = attentions_;
    args_.attentions[attentions_++] = dealt;
    return FillAttention(dealt, maps);
  }

  const std::int64_t rows_;
  int heads_ = 0;
  int attentions_ = 0;
  StreamChainArgs args_;
};

}  // namespace

Status LaunchStreamChain(const StreamChain& chain, unsigned* counters, cudaStream_t stream) {
  if (chain.steps().empty()) return OkStatus();
  DM_RETURN_IF_ERROR(
      ArgumentCheck("stream_chain")
          .Size("steps", static_cast<std::int64_t>(chain.steps().size()), 1, Traits::kMostSteps)
          .Pointer("counters", counters)
          .status());
  // Whoever sets the counters back must have seen all of them.
  DM_RETURN_IF_ERROR(ArgumentCheck("stream_chain")
                         .Rule(!chain.steps().back().beside || chain.steps().size() == 1,
                               "the last step is not beside another")
                         .status());
  if (BlocksOfDevice() == 0)
    return UnimplementedError(
        "stream_chain: the device is no sm_90, or the program was built without sm_90a");
  std::int64_t rows = 8;
  for (const StreamChain::Step& given : chain.steps()) {
    if (given.linear && given.linear->rows > 8) rows = Traits::kMostRows;
  }
  ArgumentsBuilder builder(rows, counters);
  for (const StreamChain::Step& given : chain.steps()) DM_RETURN_IF_ERROR(builder.Add(given));
  return rows == 8 ? Launch<8>(builder.args(), stream) : Launch<16>(builder.args(), stream);
}

Status LaunchHeads(const std::vector<StreamHeads>& heads, cudaStream_t stream) {
  DM_RETURN_IF_ERROR(
      ArgumentCheck("heads").Size("heads", std::ssize(heads), 1, Traits::kMostHeadsAlone).status());
  HeadsArgs args;
  std::int64_t rows = 0, most = 0, count = 0, of_row = 0;
  for (const StreamHeads& one : heads) {
    DM_RETURN_IF_ERROR(CheckStreamHeads(one));
    args.heads[count++] = one;
    rows = std::max(rows, one.rows);
    most = std::max(most, one.d);
    of_row = std::max(of_row, one.heads);
  }
  if (rows == 0) return OkStatus();
  auto* const kernel = most <= 128 ? HeadsKernel<128> : HeadsKernel<Traits::kMostHeadDim>;
  constexpr std::int64_t kWarps = Traits::kConsumers / kWarp;
  const dim3 grid(Blocks(rows, 1), static_cast<unsigned>(count), Blocks(of_row, kWarps));
  return LaunchDependent("heads", kernel, grid, dim3(Traits::kConsumers), 0, stream, args);
}

}  // namespace draftmark::kernels
