// BF16 values on the device: widening, the one rounding, and access in chunks of eight.
//
// A chunk is 16 bytes where kVector says that addresses and widths allow it (CanVectorise on the
// host), else eight scalar accesses with the same values in the same places: which path runs never
// changes a result.
#ifndef DRAFTMARK_KERNELS_DEVICE_VALUES_CUH_
#define DRAFTMARK_KERNELS_DEVICE_VALUES_CUH_

#include <cuda_bf16.h>

#include <cstdint>

#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

inline constexpr int kChunk = 8;  // BF16 elements of 16 bytes

// A quiet NaN: what a row holds that an index outside its table asked for.
inline constexpr std::uint16_t kNanBits = 0x7FFF;

__device__ __forceinline__ float FloatOf(std::uint32_t bits) { return __uint_as_float(bits << 16); }
__device__ __forceinline__ float ToFloat(BFloat16 value) { return FloatOf(value.bits); }

// The rounding point of the spec: nearest, ties to even.
__device__ __forceinline__ BFloat16 Round(float value) {
  return BFloat16{__bfloat16_as_ushort(__float2bfloat16_rn(value))};
}
// Two rounded values, `first` in the lower half: the order of memory.
__device__ __forceinline__ std::uint32_t RoundPair(float first, float second) {
  return static_cast<std::uint32_t>(Round(first).bits) |
         static_cast<std::uint32_t>(Round(second).bits) << 16;
}

__device__ __forceinline__ void Widen(uint4 raw, float (&values)[kChunk]) {
  const std::uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    values[2 * i] = __uint_as_float(words[i] << 16);
    values[2 * i + 1] = __uint_as_float(words[i] & 0xFFFF0000u);
  }
}

// The bits of elements p[0] ... p[min(count, 8) - 1]; zeros behind them, and for a count below 1.
template <bool kVector>
__device__ __forceinline__ uint4 LoadRaw(const BFloat16* p, int count) {
  if (kVector && count >= kChunk) return *reinterpret_cast<const uint4*>(p);
  const auto pair = [&](int i) {
    const std::uint32_t low = i < count ? p[i].bits : 0, high = i + 1 < count ? p[i + 1].bits : 0;
    return low | high << 16;
  };
  return make_uint4(pair(0), pair(2), pair(4), pair(6));
}

// Elements p[0] ... p[min(count, 8) - 1]; zeros behind them, and for a count below 1.
template <bool kVector>
__device__ __forceinline__ void LoadChunk(const BFloat16* p, int count, float (&values)[kChunk]) {
  if (kVector && count >= kChunk) {
    Widen(*reinterpret_cast<const uint4*>(p), values);
    return;
  }
#pragma unroll
  for (int i = 0; i < kChunk; ++i) values[i] = i < count ? ToFloat(p[i]) : 0.0f;
}

// The same where a chunk begins: with kVector it is known to be whole, and nothing is asked.
template <bool kVector>
__device__ __forceinline__ void LoadBegun(const BFloat16* p, int count, float (&values)[kChunk]) {
  if constexpr (kVector) {
    Widen(*reinterpret_cast<const uint4*>(p), values);
  } else {
    LoadChunk<false>(p, count, values);
  }
}

template <bool kVector>
__device__ __forceinline__ void StoreChunk(BFloat16* p, int count, const float (&values)[kChunk]) {
  if (kVector && count >= kChunk) {
    *reinterpret_cast<uint4*>(p) =
        make_uint4(RoundPair(values[0], values[1]), RoundPair(values[2], values[3]),
                   RoundPair(values[4], values[5]), RoundPair(values[6], values[7]));
    return;
  }
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    if (i < count) p[i] = Round(values[i]);
  }
}

// Copies `width` elements with the threads of a block; NaN where `source` is null.
template <bool kVector>
__device__ __forceinline__ void CopyRow(const BFloat16* __restrict__ source,
                                        BFloat16* __restrict__ target, int width) {
  if constexpr (kVector) {
    constexpr std::uint32_t kNanPair = kNanBits | kNanBits << 16;
    const auto* from = reinterpret_cast<const uint4*>(source);
    auto* to = reinterpret_cast<uint4*>(target);
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < width / kChunk;
         i += static_cast<int>(blockDim.x)) {
      to[i] = source != nullptr ? from[i] : make_uint4(kNanPair, kNanPair, kNanPair, kNanPair);
    }
  } else {
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < width; i += static_cast<int>(blockDim.x)) {
      target[i].bits = source != nullptr ? source[i].bits : kNanBits;
    }
  }
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DEVICE_VALUES_CUH_
