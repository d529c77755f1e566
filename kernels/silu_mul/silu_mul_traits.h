// Static facts of the silu_mul kernel.
#ifndef DRAFTMARK_KERNELS_SILU_MUL_SILU_MUL_TRAITS_H_
#define DRAFTMARK_KERNELS_SILU_MUL_SILU_MUL_TRAITS_H_

namespace draftmark::kernels {

struct SiluMulTraits {
  static constexpr int kMinimumArch = 80;
  static constexpr int kThreads = 256;  // one chunk of 8 elements each: two loads in flight
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_SILU_MUL_SILU_MUL_TRAITS_H_
