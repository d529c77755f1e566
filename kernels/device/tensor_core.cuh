// Instructions of sm_80 and later that C++ has no word for: asynchronous copies into shared memory,
// matrix loads from it, and BF16 matrix products with FP32 sums.
//
// Fragments of mma.m16n8k16, with g = lane / 4 and t = lane % 4:
//   A 16 x 16 (row-major): a0 = [g][2t, 2t+1]  a1 = [g+8][2t..]  a2 = [g][2t+8..]  a3 = [g+8][2t+8..]
//   B 16 x 8 (by column):  b0 = [2t, 2t+1][g]  b1 = [2t+8, 2t+9][g]
//   C 16 x 8:              c0, c1 = [g][2t, 2t+1]  c2, c3 = [g+8][2t, 2t+1]
#ifndef DRAFTMARK_KERNELS_DEVICE_TENSOR_CORE_CUH_
#define DRAFTMARK_KERNELS_DEVICE_TENSOR_CORE_CUH_

#include <cstdint>

namespace draftmark::kernels {

__device__ __forceinline__ std::uint32_t SharedAddress(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

// Copies 16 bytes, or writes 16 zeros without reading where `valid` is false. Both addresses are
// multiples of 16.
__device__ __forceinline__ void CopyAsync16(void* shared, const void* global, bool valid) {
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(SharedAddress(shared)),
               "l"(global), "r"(bytes)
               : "memory");
}
// The same for 4 bytes, addresses being multiples of 4.
__device__ __forceinline__ void CopyAsync4(void* shared, const void* global, bool valid) {
  const int bytes = valid ? 4 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;\n" ::"r"(SharedAddress(shared)),
               "l"(global), "r"(bytes)
               : "memory");
}
// Waits for all copies that this thread has started.
__device__ __forceinline__ void WaitForCopies() {
  asm volatile("cp.async.wait_all;\n" ::: "memory");
}

// c += a * b.
__device__ __forceinline__ void MultiplyAdd(float (&c)[4], const std::uint32_t (&a)[4],
                                            std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four 8 x 8 matrices of 16-bit elements, transposed: lane l gives the address of row l % 8 of
// matrix l / 8, and gets elements [2t][g] and [2t+1][g] of each.
__device__ __forceinline__ void LoadTransposed(std::uint32_t (&matrix)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(matrix[0]), "=r"(matrix[1]), "=r"(matrix[2]), "=r"(matrix[3])
               : "r"(SharedAddress(row))
               : "memory");
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DEVICE_TENSOR_CORE_CUH_
