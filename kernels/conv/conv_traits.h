// Static facts of the convolution kernel of conv_prepare and conv_finish.
#ifndef DRAFTMARK_KERNELS_CONV_CONV_TRAITS_H_
#define DRAFTMARK_KERNELS_CONV_CONV_TRAITS_H_

namespace draftmark::kernels {

struct ConvTraits {
  static constexpr int kMinimumArch = 80;
  static constexpr int kThreads = 128;
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_CONV_CONV_TRAITS_H_
