// Static facts of the kv_write kernel.
#ifndef DRAFTMARK_KERNELS_KV_WRITE_KV_WRITE_TRAITS_H_
#define DRAFTMARK_KERNELS_KV_WRITE_KV_WRITE_TRAITS_H_

namespace draftmark::kernels {

struct KvWriteTraits {
  static constexpr int kMinimumArch = 80;
  static constexpr int kThreads = 128;  // a row of 1024 elements is one 16-byte copy for each
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_KV_WRITE_KV_WRITE_TRAITS_H_
