// Static facts of the slot_fill kernel.
#ifndef DRAFTMARK_KERNELS_SLOT_FILL_SLOT_FILL_TRAITS_H_
#define DRAFTMARK_KERNELS_SLOT_FILL_SLOT_FILL_TRAITS_H_

namespace draftmark::kernels {

struct SlotFillTraits {
  static constexpr int kMinimumArch = 80;
  static constexpr int kThreads = 128;
  static constexpr int kBlockRows = 16;  // slots of one cache block, whatever the draft's width
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_SLOT_FILL_SLOT_FILL_TRAITS_H_
