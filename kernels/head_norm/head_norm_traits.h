// Static facts of the head_norm kernel.
#ifndef DRAFTMARK_KERNELS_HEAD_NORM_HEAD_NORM_TRAITS_H_
#define DRAFTMARK_KERNELS_HEAD_NORM_HEAD_NORM_TRAITS_H_

namespace draftmark::kernels {

struct HeadNormTraits {
  static constexpr int kMinimumArch = 80;
  static constexpr int kThreads = 128;
  // Lanes of one head, eight elements each: heads of up to 64, 128 and 256 are read once; wider
  // ones take the last.
  static constexpr int kLanes64 = 8;
  static constexpr int kLanes128 = 16;
  static constexpr int kLanesWide = 32;
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_HEAD_NORM_HEAD_NORM_TRAITS_H_
