// What becomes of a tile's sums: added over warpgroups and the pair of blocks that share it; then the
// epilogue.
#ifndef DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_CHAIN_FINISH_CUH_
#define DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_CHAIN_FINISH_CUH_

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/candidates.cuh"
#include "kernels/device/cluster.cuh"
#include "kernels/device/reduce.cuh"
#include "kernels/device/values.cuh"
#include "kernels/stream_chain/sm90_chain_step.cuh"

namespace draftmark::kernels {

inline constexpr int kConsumerBarrier = 1;

// For the consumers' threads. Of a tile that two blocks share, each finishes half of the rows, and sends
// its sums of the others. There is room for two tiles' sums: those of tile t + 2 are sent behind the
// sender's own tile t + 1, for which it needs what the receiver sends behind its tile t.
template <int kRows>
class TileFinisher {
 public:
  using Traits = StreamChainTraits;

  __device__ explicit TileFinisher(const ChainMemory<kRows>& m) : m_(m) {}

  // Before the first tile.
  __device__ void BeginStep(const StreamStep& step) {
    if (step.linear.row_best != nullptr) Best() = kNoCandidate;
  }

  // Before the products of a tile, so that it is there behind them.
  __device__ void LoadResidual(const StreamStep& step, int tile) {
    const StreamWork& a = step.linear;
    const int thread = static_cast<int>(threadIdx.x);
    const int row = FirstRow(step) + thread / kPieces;
    if (a.epilogue != StreamEpilogue::kResidual || thread >= kRows / step.split * kPieces ||
        row >= a.rows) {
      return;
    }
    const int piece = thread % kPieces * kOwn;
    const StreamTile at = TileOf(step, tile);
    const int count = CountOf(step, at, piece);
    if (count > 0) LoadSome(a.residual + row * a.parts[0].n + at.row + piece, count, before_);
  }

  __device__ void Run(const StreamStep& step, int tile, const float (&sums)[kRows / 8][4]) {
    SyncThreads(kConsumerBarrier, Traits::kConsumers);  // nobody reads the tile before any more
    Write(sums);
    SyncThreads(kConsumerBarrier, Traits::kConsumers);
    if (step.split == 2) Exchange();
    Finish(step, tile);
    turns_ += step.split - 1;
  }

  // The sums of squares of what this block stored in a step, and the greatest; zero for rows that it did not
  // finish.
  __device__ void EndStep(const StreamStep& step) {
    const StreamWork& a = step.linear;
    const int place = static_cast<int>(threadIdx.x) / kPieces;
    const int row = (FirstRow(step) + place) % kRows;
    if (a.row_sums != nullptr && threadIdx.x % kPieces == 0 && place < kRows && row < a.rows) {
      a.row_sums[blockIdx.x * Traits::kMostRows + row] =
          place < kRows / step.split ? squares_ : 0.0f;
    }
    squares_ = 0;
    if (a.row_best == nullptr) return;
    const std::uint32_t code = CandidateCode(__float_as_uint(Best()) >> 16);
    CandidateKey key = KeyOf(code, __float_as_uint(BestOutput()));
#pragma unroll
    for (int step_of = 1; step_of < kPieces; step_of *= 2) {
      key = Greater(key, __shfl_xor_sync(kAllLanes, key, step_of));
    }
    if (threadIdx.x % kPieces == 0 && place < kRows && row < a.rows) {
      a.row_best[blockIdx.x * Traits::kMostRows + row] = place < kRows / step.split ? key : 0;
    }
  }

 private:
  // The greatest value so far, and its output as bits, of this thread's row. They stand where a residual would,
  // which such a step has not: registers are short.
  __device__ float& Best() { return before_[0]; }
  __device__ float& BestOutput() { return before_[1]; }

  // Outputs of a thread: few, since all code here is fetched anew in every step (kernels/PERFORMANCE.md).
  static constexpr int kOwn = 4;
  static constexpr int kPieces = Traits::kTile / kOwn;  // of a row
  static_assert(kRows * kPieces <= Traits::kConsumers);

  static __device__ int FirstRow(const StreamStep& step) {
    return step.split == 2 ? static_cast<int>(blockIdx.x) % 2 * (kRows / 2) : 0;
  }

  __device__ void Write(const float (&sums)[kRows / 8][4]) {
    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % kWarp;
    // Warpgroup, then row, then output
    float* const to = m_.sums + thread / 128 * (kRows * Traits::kSumPitch) +
                      thread % 128 / kWarp * 16 + lane / 4 + lane % 4 * 2 * Traits::kSumPitch;
#pragma unroll
    for (int j = 0; j < kRows / 8; ++j) {
      float* const row = to + j * 8 * Traits::kSumPitch;
      row[0] = sums[j][0];
      row[Traits::kSumPitch] = sums[j][1];
      row[8] = sums[j][2];
      row[Traits::kSumPitch + 8] = sums[j][3];
    }
  }

  // Sums of both warpgroups, of neighbouring outputs.
  __device__ void AddOwn(int row, int output, float (&z)[kOwn]) const {
    const float* const first = m_.sums + row * Traits::kSumPitch + output;
    const float4 low = *reinterpret_cast<const float4*>(first);
    const float4 high = *reinterpret_cast<const float4*>(first + kRows * Traits::kSumPitch);
    z[0] = low.x + high.x;
    z[1] = low.y + high.y;
    z[2] = low.z + high.z;
    z[3] = low.w + high.w;
  }

  // Sends the other block its rows' sums, and waits for this one's.
  __device__ void Exchange() {
    constexpr int kSenders = kRows / 2 * kPieces;
    constexpr unsigned kBytes = kSenders * 16;
    const int thread = static_cast<int>(threadIdx.x);
    const unsigned other = blockIdx.x % 2 ^ 1u;
    std::uint64_t* const here = &m_.b.sent[turns_ % 2];
    if (thread == 0) ArriveExpecting(here, kBytes);
    if (thread < kSenders) {
      const int row = thread / kPieces;
      const int output = thread % kPieces * kOwn;
      float z[kOwn];
      AddOwn(static_cast<int>(other) * (kRows / 2) + row, output, z);
      SendToBlock(AddressInBlock(Sent(row, output), other), z, AddressInBlock(here, other));
    }
    WaitForBlocks(here, turns_ / 2 & 1u);
  }
  // Of a row of this block's half.
  __device__ float* Sent(int row, int output) const {
    return m_.sent + (turns_ % 2 * (kRows / 2) + row) * Traits::kTile + output;
  }

  // The same, with the other block's. A sum of two is the same in either order.
  __device__ void Add(const StreamStep& step, int row, int output, float (&z)[kOwn]) const {
    AddOwn(row, output, z);
    if (step.split == 1) return;
    const float4 sent = *reinterpret_cast<const float4*>(Sent(row - FirstRow(step), output));
    z[0] += sent.x;
    z[1] += sent.y;
    z[2] += sent.z;
    z[3] += sent.w;
  }

  __device__ void Finish(const StreamStep& step, int tile) {
    const int thread = static_cast<int>(threadIdx.x);
    if (thread >= kRows / step.split * kPieces) return;  // whole warps
    const int row = FirstRow(step) + thread / kPieces;
    const int piece = thread % kPieces * kOwn;
    const bool valid = row < step.linear.rows;
    const StreamTile at = TileOf(step, tile);
    if (IsPair(step)) {
      if (valid) FinishPair(step, at, row, piece);
    } else {
      squares_ += LaneSum<kPieces>(valid ? FinishPlain(step, at, row, piece) : 0.0f);
    }
  }

  // Outputs of a tile that this piece has.
  static __device__ int CountOf(const StreamStep& step, const StreamTile& at, int piece) {
    const int of_part = static_cast<int>(step.linear.parts[at.part].n) - at.row;
    return min(min(step.height, of_part) - piece, kOwn);
  }

  __device__ void FinishPair(const StreamStep& step, const StreamTile& at, int row,
                             int piece) const {
    const int count = CountOf(step, at, piece);
    if (count <= 0) return;
    const StreamOutputs& part = step.linear.parts[0];
    float gate[kOwn], up[kOwn];
    Add(step, row, piece + (step.up_first ? step.height : 0), gate);
    Add(step, row, piece + (step.up_first ? 0 : step.height), up);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const float g = ToFloat(Round(gate[i]));
      // e^-g is infinite for a gate below -88: the quotient is then -0, as it should be.
      gate[i] = g / (1.0f + expf(-g)) * ToFloat(Round(up[i]));
    }
    StoreSome(part.y + row * part.n + at.row + piece, count, gate);
  }

  // A thread meets outputs in ascending order: the first of equals stays.
  __device__ void KeepBest(int output, int count, const float (&z)[kOwn]) {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const float stored = ToFloat(Round(z[i]));
      if (i < count && stored > Best()) {
        Best() = stored;
        BestOutput() = __uint_as_float(static_cast<unsigned>(output + i));
      }
    }
  }

  // Gives the sum of squares of what it stored.
  __device__ float FinishPlain(const StreamStep& step, const StreamTile& at, int row, int piece) {
    const StreamWork& a = step.linear;
    const StreamOutputs& part = a.parts[at.part];
    const int count = CountOf(step, at, piece);
    if (count <= 0) return 0;
    const std::int64_t output = at.group * part.n + at.row + piece;
    const std::int64_t place = std::int64_t{row} * part.groups * part.n + output;
    float z[kOwn];
    Add(step, row, piece, z);
    if (part.bias != nullptr) {
      float bias[kOwn];
      LoadSome(part.bias + output, count, bias);
#pragma unroll
      for (int i = 0; i < kOwn; ++i) z[i] += bias[i];
    }
    if (a.epilogue == StreamEpilogue::kStore) {
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        z[i] *= a.multiplier;
        if (a.softcap > 0) z[i] = a.softcap * tanhf(z[i] / a.softcap);
      }
    }
    if (part.y != nullptr) StoreSome(part.y + place, count, z);
    if (a.row_best != nullptr) KeepBest(at.row + piece, count, z);
    if (a.epilogue == StreamEpilogue::kResidual) {
#pragma unroll
      for (int i = 0; i < kOwn; ++i) z[i] = before_[i] + ToFloat(Round(z[i]));
      StoreSome(a.residual + place, count, z);
    }
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const float stored = i < count ? ToFloat(Round(z[i])) : 0.0f;
      squares = fmaf(stored, stored, squares);
    }
    return squares;
  }

  // All at once where that many belong together; tiles of any height begin anywhere.
  static __device__ bool Whole(const BFloat16* at, int count) {
    return count == kOwn && reinterpret_cast<std::uint64_t>(at) % (2 * kOwn) == 0;
  }
  static __device__ void LoadSome(const BFloat16* from, int count, float (&values)[kOwn]) {
    if (Whole(from, count)) {
      const uint2 raw = __ldcg(reinterpret_cast<const uint2*>(from));
      values[0] = __uint_as_float(raw.x << 16);
      values[1] = __uint_as_float(raw.x & 0xFFFF0000u);
      values[2] = __uint_as_float(raw.y << 16);
      values[3] = __uint_as_float(raw.y & 0xFFFF0000u);
      return;
    }
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      values[i] =
          i < count ? FloatOf(__ldcg(reinterpret_cast<const unsigned short*>(from + i))) : 0.0f;
    }
  }
  static __device__ void StoreSome(BFloat16* to, int count, const float (&values)[kOwn]) {
    if (Whole(to, count)) {
      *reinterpret_cast<uint2*>(to) =
          make_uint2(RoundPair(values[0], values[1]), RoundPair(values[2], values[3]));
      return;
    }
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      if (i < count) to[i] = Round(values[i]);
    }
  }

  const ChainMemory<kRows>& m_;
  unsigned turns_ = 0;  // tiles shared so far
  float squares_ = 0;
  float before_[kOwn] = {};  // of the residual stream, this thread's part of the tile
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_STREAM_CHAIN_SM90_CHAIN_FINISH_CUH_
