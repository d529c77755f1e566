// Static facts of the residual_add kernel.
#ifndef DRAFTMARK_KERNELS_RESIDUAL_ADD_RESIDUAL_ADD_TRAITS_H_
#define DRAFTMARK_KERNELS_RESIDUAL_ADD_RESIDUAL_ADD_TRAITS_H_

namespace draftmark::kernels {

struct ResidualAddTraits {
  static constexpr int kMinimumArch = 80;
  static constexpr int kThreads = 256;  // one chunk of 8 elements each: two loads in flight
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_RESIDUAL_ADD_RESIDUAL_ADD_TRAITS_H_
