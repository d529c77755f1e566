// Static facts of the confidence kernel.
#ifndef DRAFTMARK_KERNELS_CONFIDENCE_CONFIDENCE_TRAITS_H_
#define DRAFTMARK_KERNELS_CONFIDENCE_CONFIDENCE_TRAITS_H_

namespace draftmark::kernels {

struct ConfidenceTraits {
  static constexpr int kMinimumArch = 80;
  static constexpr int kThreads = 256;
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_CONFIDENCE_CONFIDENCE_TRAITS_H_
