// All 2^32 encodings of float32 against NVIDIA's host code. Minutes, so only by name:
//
//   bazel test //src/tensor:cuda_exhaustive_test
//
// BF16, F16, E4M3 and E5M2 from float, the 8-bit ones with and without saturation, and BF16 from
// the same value as a double. cuda_agreement_test covers what only doubles can hold.
#include <atomic>
#include <bit>
#include <cstdint>

#include "gtest/gtest.h"
#include "src/base/parallel.h"
#include "src/tensor/bfloat16.h"
#include "src/tensor/cuda_host_floats.h"
#include "src/tensor/float16.h"
#include "src/tensor/float8.h"

namespace draftmark {
namespace {

// Calls check(float) for every encoding; the number of failures and the first one are reported.
template <typename Check>
void ForAllFloats(Check&& check) {
  constexpr std::uint64_t kEncodings = std::uint64_t{1} << 32;
  std::atomic<std::uint64_t> checked{0};
  std::atomic<std::uint64_t> failures{0};
  std::atomic<std::uint64_t> first{kEncodings};
  const auto some = [&](std::size_t, std::size_t begin, std::size_t end) {
    std::uint64_t failed = 0;
    for (std::uint64_t bits = begin; bits < end; ++bits) {
      if (check(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))) continue;
      ++failed;
      std::uint64_t lowest = first.load();
      while (bits < lowest && !first.compare_exchange_weak(lowest, bits)) {
      }
    }
    failures += failed;
    checked += end - begin;
  };
  ParallelFor(kEncodings, std::size_t{1} << 22, some);
  EXPECT_EQ(checked.load(), kEncodings);
  EXPECT_EQ(failures.load(), 0u) << "first at encoding 0x" << std::hex << first.load();
}

TEST(CudaExhaustiveTest, BFloat16) {
  ForAllFloats([](float x) { return BFloat16::FromFloat(x).bits == cuda_host::ToBFloat16(x); });
}
TEST(CudaExhaustiveTest, BFloat16FromDouble) {
  ForAllFloats([](float x) {
    const std::uint16_t cuda = cuda_host::ToBFloat16(x);
    return BFloat16::FromDouble(x).bits == cuda && cuda_host::ToBFloat16(double{x}) == cuda;
  });
}
TEST(CudaExhaustiveTest, Float16) {
  ForAllFloats([](float x) { return Float16::FromFloat(x).bits == cuda_host::ToFloat16(x); });
}
TEST(CudaExhaustiveTest, Float8E4M3) {
  ForAllFloats([](float x) {
    return Float8E4M3::FromFloat(x, Float8Overflow::kSaturate).bits ==
               cuda_host::ToFloat8(x, __NV_SATFINITE, __NV_E4M3) &&
           Float8E4M3::FromFloat(x, Float8Overflow::kNonsaturate).bits ==
               cuda_host::ToFloat8(x, __NV_NOSAT, __NV_E4M3);
  });
}
TEST(CudaExhaustiveTest, Float8E5M2) {
  ForAllFloats([](float x) {
    return Float8E5M2::FromFloat(x, Float8Overflow::kSaturate).bits ==
               cuda_host::ToFloat8(x, __NV_SATFINITE, __NV_E5M2) &&
           Float8E5M2::FromFloat(x, Float8Overflow::kNonsaturate).bits ==
               cuda_host::ToFloat8(x, __NV_NOSAT, __NV_E5M2);
  });
}

}  // namespace
}  // namespace draftmark
