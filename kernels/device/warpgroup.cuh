// Matrix products of a warpgroup (sm_90a): m64nNk16, BF16 with FP32 sums, operands in shared memory
// described by 64-bit words; here N 8 and 16 (those of attention: sm90_attention_products.cuh). On
// other architectures the functions do nothing; their callers are not launched there.
//
// A warpgroup is four neighbouring warps, the first of which has a number divisible by four. Sums of
// lane l of its warp w, with g = l / 4 and t = l % 4, as float[N / 8][4]: [j][0], [j][1] are row
// 16 w + g, columns 8 j + 2 t and the next; [j][2], [j][3] are row 16 w + g + 8.
#ifndef DRAFTMARK_KERNELS_DEVICE_WARPGROUP_CUH_
#define DRAFTMARK_KERNELS_DEVICE_WARPGROUP_CUH_

#include <cstdint>

#include "kernels/device/tensor_core.cuh"

namespace draftmark::kernels {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define DM_WARPGROUP 1
#else
#define DM_WARPGROUP 0
#endif

// Describes an operand of which `address` (of shared memory, aligned to 16 within a pattern that is
// aligned to 1024) is the first element, in the 128-byte swizzle: rows of 64 elements (128 bytes), of
// which eight make a pattern of 1024 bytes.
//
// Operands whose rows run along the inner dimension (K): `patterns` is the distance in bytes between
// groups of eight rows; `lines` is not used. Step 32 bytes along for the next 16 of the inner dimension.
// Operands whose rows run along the outer dimension (transposed): `patterns` is the distance between
// groups of eight of the inner dimension, `lines` that between pieces of 64 of the outer one.
__device__ __forceinline__ std::uint64_t Describe(std::uint32_t address, std::uint32_t patterns,
                                                  std::uint32_t lines = 16) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  return kSwizzle128 | std::uint64_t{patterns >> 4} << 32 | std::uint64_t{lines >> 4} << 16 |
         ((address & 0x3FFFF) >> 4);
}
// The operand that begins `bytes` (a multiple of 16) further on.
__device__ __forceinline__ std::uint64_t Along(std::uint64_t described, std::uint32_t bytes) {
  // Nothing carries over: addresses of shared memory end before.
  return (described & 0xFFFFFFFF00000000u) | (static_cast<std::uint32_t>(described) + (bytes >> 4));
}

// From here on the threads of this warpgroup have so many registers, more or fewer than the launch gave
// them. More are waited for, until other warpgroups of the block have given theirs up.
template <int kRegisters>
__device__ __forceinline__ void TakeRegisters() {
#if DM_WARPGROUP
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
#endif
}
template <int kRegisters>
__device__ __forceinline__ void GiveRegisters() {
#if DM_WARPGROUP
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
#endif
}

// Before the first product that reads sums or registers which ordinary code wrote.
__device__ __forceinline__ void WarpgroupArrive() {
#if DM_WARPGROUP
  asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
#endif
}
// Closes a group of products.
__device__ __forceinline__ void WarpgroupCommit() {
#if DM_WARPGROUP
  asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
#endif
}
// Waits until at most `kLeft` groups are still under way.
template <int kLeft>
__device__ __forceinline__ void WarpgroupWait() {
#if DM_WARPGROUP
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kLeft) : "memory");
#endif
}
// Keeps the compiler from moving sums across the wait that completes them.
template <int kTiles>
__device__ __forceinline__ void Settle(float (&sums)[kTiles][4]) {
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(sums[j][i])::"memory");
  }
}

// sums += A B^T: A [64, 16] and B [N, 16] in shared memory.
__device__ __forceinline__ void WarpgroupMultiply(float (&sums)[1][4], std::uint64_t a,
                                                  std::uint64_t b) {
#if DM_WARPGROUP
  asm volatile(
      "{\n"
      ".reg .pred add;\n"
      "setp.eq.b32 add, 0, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3}, %4, %5, add, 1, 1, 0, 0;\n"
      "}\n"
      : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[0][2]), "+f"(sums[0][3])
      : "l"(a), "l"(b)
      : "memory");
#endif
}
__device__ __forceinline__ void WarpgroupMultiply(float (&sums)[2][4], std::uint64_t a,
                                                  std::uint64_t b) {
#if DM_WARPGROUP
  asm volatile(
      "{\n"
      ".reg .pred add;\n"
      "setp.eq.b32 add, 0, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, add, 1, 1, 0, 0;\n"
      "}\n"
      : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[0][2]), "+f"(sums[0][3]), "+f"(sums[1][0]),
        "+f"(sums[1][1]), "+f"(sums[1][2]), "+f"(sums[1][3])
      : "l"(a), "l"(b)
      : "memory");
#endif
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DEVICE_WARPGROUP_CUH_
