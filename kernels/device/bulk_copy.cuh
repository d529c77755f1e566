// Instructions of sm_90: barriers in shared memory that count bytes, bulk copies that arrive on them,
// and programmatic dependent launch. On older architectures the functions do nothing; their callers
// are not launched there.
#ifndef DRAFTMARK_KERNELS_DEVICE_BULK_COPY_CUH_
#define DRAFTMARK_KERNELS_DEVICE_BULK_COPY_CUH_

#include <cstdint>

#include "kernels/device/tensor_core.cuh"

namespace draftmark::kernels {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define DM_HOPPER 1
#else
#define DM_HOPPER 0
#endif

// True in one thread of a whole warp. The compiler knows that it is one, and starts copies in it without
// a loop over the lanes.
__device__ __forceinline__ bool Elected() {
  std::uint32_t elected = 0;
#if DM_HOPPER
  asm volatile(
      "{\n"
      ".reg .pred elected;\n"
      "elect.sync _|elected, 0xffffffff;\n"
      "selp.b32 %0, 1, 0, elected;\n"
      "}\n"
      : "=r"(elected));
#endif
  return elected != 0;
}

// A barrier of `arrivals` arrivals for each phase.
__device__ __forceinline__ void InitBarrier(std::uint64_t* barrier, unsigned arrivals) {
#if DM_HOPPER
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(SharedAddress(barrier)),
               "r"(arrivals)
               : "memory");
#endif
}
// Makes initialised barriers known to the copy engine.
__device__ __forceinline__ void FenceBarriers() {
#if DM_HOPPER
  asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
#endif
}
__device__ __forceinline__ void Arrive(std::uint64_t* barrier) {
#if DM_HOPPER
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(SharedAddress(barrier))
               : "memory");
#endif
}
// Arrives, and lets the phase wait for `bytes` of copies as well.
__device__ __forceinline__ void ArriveExpecting(std::uint64_t* barrier, unsigned bytes) {
#if DM_HOPPER
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(SharedAddress(barrier)),
      "r"(bytes)
      : "memory");
#endif
}
// Waits until the phase of that parity (0 for the first) has ended.
__device__ __forceinline__ void WaitFor(std::uint64_t* barrier, unsigned parity) {
#if DM_HOPPER
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra ended;\n"
      "bra again;\n"
      "ended:\n"
      "}\n" ::"r"(SharedAddress(barrier)),
      "r"(parity)
      : "memory");
#endif
}

// Copies the box of a four-dimensional tensor map whose first element is [block][0][row][0] to shared
// memory; `barrier` counts its bytes. Starting one takes a thread some 270 cycles on an H200: boxes
// below 16 KB hold up a memory that all SMs read from. What is copied is read once: L2 may drop it
// first.
__device__ __forceinline__ void CopyTensor(void* shared, const void* map, int row, int group,
                                           int block, std::uint64_t* barrier) {
#if DM_HOPPER
  // createpolicy.fractional.L2::evict_first for all of it
  constexpr std::uint64_t kEvictFirst = 0x12F0000000000000ull;
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%2, %3, %4, %5}], [%6], %7;\n" ::"r"(SharedAddress(shared)),
      "l"(map), "r"(0), "r"(row), "r"(group), "r"(block), "r"(SharedAddress(barrier)),
      "l"(kEvictFirst)
      : "memory");
#endif
}
// The box whose first element is [fourth][third][second][0], of what others will read as well.
__device__ __forceinline__ void CopyBox(void* shared, const void* map, int second, int third,
                                        int fourth, std::uint64_t* barrier) {
#if DM_HOPPER
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3, %4, %5}], [%6];\n" ::"r"(SharedAddress(shared)),
      "l"(map), "r"(0), "r"(second), "r"(third), "r"(fourth), "r"(SharedAddress(barrier))
      : "memory");
#endif
}
// The box whose first element is [fifth][fourth][third][second][0] of five dimensions.
__device__ __forceinline__ void CopyBox(void* shared, const void* map, int second, int third,
                                        int fourth, int fifth, std::uint64_t* barrier) {
#if DM_HOPPER
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3, %4, %5, %6}], [%7];\n" ::"r"(SharedAddress(shared)),
      "l"(map), "r"(0), "r"(second), "r"(third), "r"(fourth), "r"(fifth),
      "r"(SharedAddress(barrier))
      : "memory");
#endif
}
// As CopyTensor, of what others will read as well.
__device__ __forceinline__ void CopySharedTensor(void* shared, const void* map, int row, int block,
                                                 std::uint64_t* barrier) {
  CopyBox(shared, map, row, 0, block, barrier);
}

// Brings a tensor map near, before its first copy.
__device__ __forceinline__ void PrefetchMap(const void* map) {
#if DM_HOPPER
  asm volatile("prefetch.tensormap [%0];\n" ::"l"(map) : "memory");
#endif
}
// Makes this thread's ordinary writes to shared memory known to the copy engine and to warpgroup
// products; before the barrier behind which those come.
__device__ __forceinline__ void FenceShared() {
#if DM_HOPPER
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
#endif
}
// Makes ordinary writes to global memory, this thread's and those that it has seen, known to the copy
// engine.
__device__ __forceinline__ void FenceGlobal() {
#if DM_HOPPER
  asm volatile("fence.proxy.async.global;\n" ::: "memory");
#endif
}
// A barrier of `threads` threads of the block (whole warps); 0 is that of __syncthreads.
__device__ __forceinline__ void SyncThreads(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;\n" ::"r"(barrier), "r"(threads) : "memory");
}

// Lets the next kernel of the stream begin.
__device__ __forceinline__ void LaunchDependents() {
#if DM_HOPPER
  asm volatile("griddepcontrol.launch_dependents;\n" ::: "memory");
#endif
}
// Waits until the kernels before have ended and their writes are seen. Each thread that reads or
// writes what they touch must call it.
__device__ __forceinline__ void WaitForPrevious() {
#if DM_HOPPER
  asm volatile("griddepcontrol.wait;\n" ::: "memory");
#endif
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DEVICE_BULK_COPY_CUH_
