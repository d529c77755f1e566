// Static facts of the kv_split kernel.
#ifndef DRAFTMARK_KERNELS_KV_SPLIT_KV_SPLIT_TRAITS_H_
#define DRAFTMARK_KERNELS_KV_SPLIT_KV_SPLIT_TRAITS_H_

namespace draftmark::kernels {

struct KvSplitTraits {
  static constexpr int kMinimumArch = 80;
  static constexpr int kThreads = 128;  // a row of 1024 elements is one 16-byte copy for each
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_KV_SPLIT_KV_SPLIT_TRAITS_H_
