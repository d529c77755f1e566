// Blocks of a cluster (sm_90): their barrier, and each other's shared memory. On older architectures
// the functions do nothing; their callers are not launched there.
#ifndef DRAFTMARK_KERNELS_DEVICE_CLUSTER_CUH_
#define DRAFTMARK_KERNELS_DEVICE_CLUSTER_CUH_

#include <cstdint>

#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/tensor_core.cuh"

namespace draftmark::kernels {

// In two halves; all threads of all blocks do both.
__device__ __forceinline__ void ClusterArrive() {
#if DM_HOPPER
  asm volatile("barrier.cluster.arrive.release.aligned;\n" ::: "memory");
#endif
}
__device__ __forceinline__ void ClusterWait() {
#if DM_HOPPER
  asm volatile("barrier.cluster.wait.acquire.aligned;\n" ::: "memory");
#endif
}

// The address in block `rank` of what lies at `shared` here.
__device__ __forceinline__ std::uint32_t AddressInBlock(const void* shared, unsigned rank) {
  std::uint32_t address = 0;
#if DM_HOPPER
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;\n"
               : "=r"(address)
               : "r"(SharedAddress(shared)), "r"(rank));
#endif
  return address;
}
// Stores there, and counts 16 bytes on a barrier of that block: who waits for it sees them. No fence is
// needed, where an arrival that releases would wait for all that this thread has under way.
__device__ __forceinline__ void SendToBlock(std::uint32_t address, const float (&values)[4],
                                            std::uint32_t barrier) {
#if DM_HOPPER
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, "
      "[%5];\n" ::"r"(address),
      "r"(__float_as_uint(values[0])), "r"(__float_as_uint(values[1])),
      "r"(__float_as_uint(values[2])), "r"(__float_as_uint(values[3])), "r"(barrier)
      : "memory");
#endif
}
// Arrives on another block's barrier; what this thread has seen is seen by who waits for it. The release
// waits for all that the thread has under way: hundreds of cycles where memory is busy.
__device__ __forceinline__ void ArriveInBlock(std::uint32_t barrier) {
#if DM_HOPPER
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];\n" ::"r"(barrier)
               : "memory");
#endif
}
// As WaitFor, for arrivals of other blocks.
__device__ __forceinline__ void WaitForBlocks(std::uint64_t* barrier, unsigned parity) {
#if DM_HOPPER
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@done bra ended;\n"
      "bra again;\n"
      "ended:\n"
      "}\n" ::"r"(SharedAddress(barrier)),
      "r"(parity)
      : "memory");
#endif
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DEVICE_CLUSTER_CUH_
