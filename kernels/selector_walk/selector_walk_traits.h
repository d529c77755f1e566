// Static facts of the selector_walk kernel.
#ifndef DRAFTMARK_KERNELS_SELECTOR_WALK_SELECTOR_WALK_TRAITS_H_
#define DRAFTMARK_KERNELS_SELECTOR_WALK_SELECTOR_WALK_TRAITS_H_

namespace draftmark::kernels {

struct SelectorWalkTraits {
  static constexpr int kMinimumArch = 80;
  static constexpr int kCandidates = 16;
  static constexpr int kThreads = 32 * kCandidates;  // a warp for each candidate
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_SELECTOR_WALK_SELECTOR_WALK_TRAITS_H_
