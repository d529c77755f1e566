// Chains of linear layers of up to 16 rows at the speed of memory (Hopper): one kernel that stays on
// the device for several steps of a draft, while the weights of all of them flow through shared
// memory without a pause (spec/drafter.md sections 3 to 5).
//
//   StreamChain chain;
//   StreamLinear output = {.x = attended, .rows = 16, .k = 4096};
//   output.parts[0] = {.weight = o_proj, .n = 4096};
//   output.epilogue = StreamEpilogue::kResidual;
//   output.residual = stream;
//   output.row_sums = sums;
//   chain.Add(output);
//   chain.Add(...);
//   DM_RETURN_IF_ERROR(LaunchStreamChain(chain, counter, cuda_stream));
//
// A linear step: y = epilogue(prologue(x) W^T + bias). Up to three matrices share an input and follow
// each other (q, k and v), or two are a pair (gate and up). Prologue: RMSNorm of the rows, one rounding,
// by sums of squares that the kernel or step before left; its result also goes to `normed`. Epilogues:
// store (multiplier and softcap as in linear.h); add to the residual stream, rne(residual + rne(sum));
// or SwiGLU of a pair, rne(g * sigmoid(g) * u) of the rounded g and u. With row_sums a step leaves the
// sums of squares of what it stored (of the stream behind the addition), with row_best the greatest
// value's key.
//
// A heads step: RMSNorm and RoPE of each head of some rows, each rounded once, to y or to the rows' slots
// of a cache. A slot outside of the pool is not written.
//
// An attention step: that of kernels/paged_attention, with its rules of masks, NaN and finite values, of
// head dims 64 and 128, and of any number of bands. Keys of logical indices below a band's q_offset (and below
// the step's late_keys in front of it) flow in while the steps before still run: no step of the chain writes
// those. A band has the same bits alone and among others; they differ from those of LaunchPagedAttention.
//
// FP32 accumulation in an order that n, k and the number of SMs decide: a row has the same bits whatever
// other rows there are, and in every run. The launch is a programmatic dependent: it may begin, and read
// weights, while the kernel before it still runs; weights must have been complete when that one was
// launched. All else is read and written after it has ended.
//
// All blocks of the kernel wait for each other: they need every SM at once, and two chains on one device
// at the same time may wait for ever (kernels/draft/chain_turn.h keeps sessions from it).
//
// INVALID_ARGUMENT for sizes or pointers that cannot be, and for what this kernel does not take: a linear
// step of more than 16 rows, k no multiple of 64, rows or weights that are not aligned to 16 bytes, more
// than 17 steps, 24 heads or 3 attentions, attentions of different shapes, negative late_keys, a step beside one that is
// not linear or at the end, no rows. UNIMPLEMENTED where
// the device is no sm_90, or the program was built without sm_90a; those of MakeTensorMap. Other rules
// of launchers: kernels/device/arguments.h. Thread-safe.
#ifndef DRAFTMARK_KERNELS_STREAM_CHAIN_STREAM_CHAIN_H_
#define DRAFTMARK_KERNELS_STREAM_CHAIN_STREAM_CHAIN_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/device/slots.h"
#include "kernels/paged_attention/paged_attention.h"
#include "src/base/status.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct StreamPart {
  const BFloat16* weight = nullptr;  // [n, k]
  const BFloat16* bias = nullptr;    // [n]; may be null
  BFloat16* y = nullptr;  // [rows, n]; of a pair the first one's; with a residual it may be null
  std::int64_t n = 0;
  // Several matrices of n outputs each, group_step elements from one to the next: bias [groups, n], y [rows,
  // groups, n]. Stored, not of a pair.
  std::int64_t groups = 1;
  std::int64_t group_step = 0;

  std::int64_t outputs() const { return groups * n; }
};

enum class StreamEpilogue { kStore, kResidual, kSwiGlu };

struct StreamLinear {
  const BFloat16* x = nullptr;  // [rows, k]
  std::int64_t rows = 0;
  std::int64_t k = 0;
  StreamPart parts[3] = {};
  int part_count = 1;
  // Prologue: null for none.
  const BFloat16* norm_weight = nullptr;  // [k]
  const float* norm_sums = nullptr;       // [norm_parts, 16]: sums of squares of parts of x's rows
  std::int64_t norm_parts = 0;
  float epsilon = 0;
  BFloat16* normed = nullptr;  // [rows, k], not x; may be null
  float* row_sums = nullptr;   // [StreamChainRowParts(), 16]: of what is stored; may be null
  // [StreamChainRowParts(), 16]: the greatest of what is stored, as kernels/argmax combines them; kStore of
  // one part; may be null
  std::uint64_t* row_best = nullptr;
  StreamEpilogue epilogue = StreamEpilogue::kStore;
  BFloat16* residual = nullptr;  // [rows, n], read and written; kResidual
  float multiplier = 1;          // kStore
  float softcap = 0;             // kStore; 0: none
};

// Heads of `rows` rows: norm and RoPE (each if its table is given), to y, to the cache, or both.
struct alignas(16) StreamHeads {
  const BFloat16* x = nullptr;  // [rows, heads, d], x_stride elements between rows
  std::int64_t x_stride = 0;
  std::int64_t rows = 0;
  std::int64_t heads = 0;
  std::int64_t d = 0;                     // up to 256
  const BFloat16* norm_weight = nullptr;  // [d]
  float epsilon = 0;
  const float* frequency = nullptr;         // [rotary / 2]
  const std::int32_t* positions = nullptr;  // [rows]
  float amplitude = 1;
  std::int64_t rotary = 0;
  std::int64_t partner = 0;
  BFloat16* y = nullptr;  // [rows, heads, d], y_stride apart; may be x; may be null
  std::int64_t y_stride = 0;
  BFloat16* pool = nullptr;               // [pool_slots, heads, d]; may be null
  const std::int64_t* slots64 = nullptr;  // [rows]: one of the two, with a pool
  const std::int32_t* slots32 = nullptr;
  std::int32_t* slot_positions = nullptr;  // [pool_slots]; may be null
  std::int64_t pool_slots = 0;
};

// Steps, in the order in which they run; each sees what those before it wrote, but for AddBeside.
class StreamChain {
 public:
  struct Step {
    std::optional<StreamLinear> linear = {};
    std::vector<StreamHeads> heads = {};  // of a heads step; independent of each other
    std::optional<PagedAttentionArgs> attention = {};
    std::int64_t late_keys = 0;
    bool beside = false;
  };
  void Add(const StreamLinear& step) { steps_.push_back({.linear = step}); }
  // A step that needs nothing of the one before it, a linear one, and leaves alone what that one reads and writes: it
  // need not wait for its end, only for those before that. It is not the last; the next step that is not beside waits for
  // all.
  void AddBeside(const StreamLinear& step) { steps_.push_back({.linear = step, .beside = true}); }
  void Add(std::vector<StreamHeads> step) { steps_.push_back({.heads = std::move(step)}); }
  // `late_keys`: of how many logical indices in front of a band's q_offset the chain's own steps may write the
  // keys, too.
  void Add(const PagedAttentionArgs& step, std::int64_t late_keys = 0) {
    steps_.push_back({.attention = step, .late_keys = late_keys});
  }
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::vector<Step> steps_;
};

// Parts of the rows' sums of squares that a step leaves: one for each block. 0 where the kernel
// cannot run.
std::int64_t StreamChainRowParts();

// Whether the kernel takes sizes and addresses, and the current device the kernel.
bool StreamLinearFits(const StreamLinear& step);
bool StreamAttentionFits(const PagedAttentionArgs& step);

// `counters`: StreamChainTraits::kCounters, zero before and after every launch; chains that may overlap
// need their own.
Status LaunchStreamChain(const StreamChain& chain, unsigned* counters, cudaStream_t stream);

// A heads step as a kernel of its own, with the same bits: up to kMostHeadsAlone heads of any number of rows,
// on every GPU.
Status LaunchHeads(const std::vector<StreamHeads>& heads, cudaStream_t stream);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_STREAM_CHAIN_STREAM_CHAIN_H_
