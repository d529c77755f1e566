// Static facts of the row_gather kernel.
#ifndef DRAFTMARK_KERNELS_ROW_GATHER_ROW_GATHER_TRAITS_H_
#define DRAFTMARK_KERNELS_ROW_GATHER_ROW_GATHER_TRAITS_H_

namespace draftmark::kernels {

struct RowGatherTraits {
  static constexpr int kMinimumArch = 80;
  static constexpr int kThreads = 256;
  static constexpr int kColumns = 8192;  // of one block: four 16-byte loads in flight for a thread
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_ROW_GATHER_ROW_GATHER_TRAITS_H_
