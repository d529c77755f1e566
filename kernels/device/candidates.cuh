// Logits as integers that sort like the rule of spec/drafter.md section 5: greater value first,
// then the lower id; NaN and whatever is not above -1e30 is no candidate.
#ifndef DRAFTMARK_KERNELS_DEVICE_CANDIDATES_CUH_
#define DRAFTMARK_KERNELS_DEVICE_CANDIDATES_CUH_

#include <cstdint>

#include "kernels/device/values.cuh"
#include "src/faults/device_fault.cuh"

namespace draftmark::kernels {

inline constexpr float kNoCandidate = -1e30f;

// A code of 16 bits: 0 for no candidate, else greater for greater values, the same for -0 and 0.
__device__ __forceinline__ std::uint32_t CandidateCode(std::uint32_t bits) {
  if (!(FloatOf(bits) > kNoCandidate)) return 0;  // NaN too
  if (bits == 0x8000u) bits = 0;
  return (bits & 0x8000u) != 0 ? ~bits & 0xFFFFu : bits | 0x8000u;
}
__device__ __forceinline__ float ValueOfCode(std::uint32_t code) {
  return FloatOf((code & 0x8000u) != 0 ? code & 0x7FFFu : ~code & 0xFFFFu);
}

// Code and id in one number; 0 is nothing.
using CandidateKey = unsigned long long;
__device__ __forceinline__ CandidateKey KeyOf(std::uint32_t code, std::uint32_t id) {
  if (DM_DEVICE_FAULT(kWrongTieRule)) id = ~id;  // the highest wins
  return code == 0 ? 0 : static_cast<CandidateKey>(code) << 32 | (0xFFFFFFFFu - id);
}
__device__ __forceinline__ std::uint32_t CodeOfKey(CandidateKey key) {
  return static_cast<std::uint32_t>(key >> 32);
}
__device__ __forceinline__ std::uint32_t IdOfKey(CandidateKey key) {
  const std::uint32_t id = 0xFFFFFFFFu - static_cast<std::uint32_t>(key);
  return DM_DEVICE_FAULT(kWrongTieRule) ? ~id : id;
}

__device__ __forceinline__ CandidateKey Greater(CandidateKey a, CandidateKey b) {
  return a > b ? a : b;
}
// Over a warp; every lane gets it.
__device__ __forceinline__ CandidateKey WarpGreatest(CandidateKey key) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    key = Greater(key, __shfl_xor_sync(0xFFFFFFFFu, key, step));
  }
  return key;
}

// Where 16-byte loads of row[begin, end) can start: the elements before are `head` many, at most 7.
__device__ __forceinline__ int HeadElements(const BFloat16* first, int count) {
  const auto past = static_cast<int>(reinterpret_cast<std::uintptr_t>(first) % 16);
  const int head = past == 0 ? 0 : (16 - past) / 2;
  return head < count ? head : count;
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DEVICE_CANDIDATES_CUH_
