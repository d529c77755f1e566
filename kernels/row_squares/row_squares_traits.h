// Static facts of the row_squares kernel.
#ifndef DRAFTMARK_KERNELS_ROW_SQUARES_ROW_SQUARES_TRAITS_H_
#define DRAFTMARK_KERNELS_ROW_SQUARES_ROW_SQUARES_TRAITS_H_

namespace draftmark::kernels {

struct RowSquaresTraits {
  static constexpr int kMinimumArch = 80;
  static constexpr int kThreads = 512;
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_ROW_SQUARES_ROW_SQUARES_TRAITS_H_
