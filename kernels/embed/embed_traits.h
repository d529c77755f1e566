// Static facts of the embed kernel.
#ifndef DRAFTMARK_KERNELS_EMBED_EMBED_TRAITS_H_
#define DRAFTMARK_KERNELS_EMBED_EMBED_TRAITS_H_

namespace draftmark::kernels {

struct EmbedTraits {
  static constexpr int kMinimumArch = 80;
  static constexpr int kThreads = 128;  // one chunk of 8 elements each
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_EMBED_EMBED_TRAITS_H_
