// ChainDeviceTest: the base class of the tests of streaming chains. Skipped where the device is no sm_90.
#ifndef DRAFTMARK_KERNELS_STREAM_CHAIN_CHAIN_DEVICE_TEST_H_
#define DRAFTMARK_KERNELS_STREAM_CHAIN_CHAIN_DEVICE_TEST_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/stream_chain/stream_chain.h"
#include "kernels/stream_chain/stream_chain_traits.h"
#include "kernels/testing/device_test.h"
#include "src/base/status_matchers.h"
#include "src/cuda/device_buffer.h"

namespace draftmark::kernels {

class ChainDeviceTest : public DeviceTest {
 protected:
  static constexpr std::int64_t kMostRows = 16;

  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (device().compute_major != 9) {
      GTEST_SKIP() << "streaming chains are for sm_90, this is " << device().Describe();
    }
    counter_ = Upload(std::vector<unsigned>(StreamChainTraits::kCounters));
    // Else every test would be skipped without a word where this goes wrong.
    const DeviceBuffer x = Bytes(64 * sizeof(BFloat16)), y = Bytes(64 * sizeof(BFloat16));
    const DeviceBuffer weight = Bytes(64 * 64 * sizeof(BFloat16));
    StreamLinear step = {.x = x.As<BFloat16>(), .rows = 1, .k = 64};
    step.parts[0] = {.weight = weight.As<BFloat16>(), .y = y.As<BFloat16>(), .n = 64};
    ASSERT_TRUE(StreamLinearFits(step)) << device().Describe();
    ASSERT_GT(StreamChainRowParts(), 0);
  }

  // What a kernel writes, between guards that it must not touch. All of it is poison at first.
  template <typename T>
  struct Output {
    DeviceBuffer buffer;
    std::int64_t count = 0;
    T* data() const { return buffer.As<T>() + kGuard; }
  };
  // `behind`: elements that a kernel could take for its own, such as rows that are not there.
  template <typename T>
  Output<T> MakeOutput(std::int64_t count, std::int64_t behind = 0) {
    return {Bytes(static_cast<std::uint64_t>(count + behind + 2 * kGuard) * sizeof(T)), count};
  }
  // Of 16 rows the first `rows`.
  template <typename T>
  Output<T> MakeRows(std::int64_t rows, std::int64_t width) {
    return MakeOutput<T>(rows * width, (kMostRows - rows) * width);
  }
  // The same with contents.
  Output<BFloat16> MakeRows(std::int64_t rows, std::int64_t width,
                            const std::vector<BFloat16>& values) {
    Output<BFloat16> output = MakeRows<BFloat16>(rows, width);
    std::vector<BFloat16> all(output.buffer.bytes() / sizeof(BFloat16), BFloat16{0xFFFF});
    std::copy_n(values.begin(), output.count, all.begin() + kGuard);
    Write(output.buffer, all);
    return output;
  }
  // Waits for the stream; the guards must be as they were.
  template <typename T>
  std::vector<T> Take(const Output<T>& output) {
    const std::vector<std::uint8_t> all = Read<std::uint8_t>(output.buffer);
    const auto begin = all.begin() + kGuard * sizeof(T);
    const auto end = begin + output.count * static_cast<std::int64_t>(sizeof(T));
    const auto poison = [](std::uint8_t byte) { return byte == 0xFF; };
    EXPECT_TRUE(std::all_of(all.begin(), begin, poison)) << "written in front of an output";
    EXPECT_TRUE(std::all_of(end, all.end(), poison)) << "written behind an output";
    std::vector<T> values(static_cast<std::size_t>(output.count));
    std::memcpy(values.data(), &*begin, values.size() * sizeof(T));
    return values;
  }

  // The first `rows` of 16.
  static std::vector<BFloat16> FirstRows(const std::vector<BFloat16>& x, std::int64_t rows) {
    const auto count = static_cast<std::ptrdiff_t>(x.size()) / kMostRows * rows;
    return {x.begin(), x.begin() + count};
  }

  Status Launch(const StreamChain& chain) {
    return LaunchStreamChain(chain, counter_.As<unsigned>(), stream());
  }
  template <typename Step>
  Status LaunchStep(const Step& step) {
    StreamChain chain;
    chain.Add(step);
    return Launch(chain);
  }
  // The greatest of all.
  unsigned Counter() {
    const std::vector<unsigned> all = Read<unsigned>(counter_);
    return *std::max_element(all.begin(), all.end());
  }

 private:
  static constexpr std::int64_t kGuard = 64;  // elements: an output keeps its alignment to 16 bytes

  DeviceBuffer counter_;
};

// How many steps of BF16 lie between two finite values.
inline std::int64_t StepsBetween(BFloat16 a, BFloat16 b) {
  const auto place = [](BFloat16 value) -> std::int64_t {
    const std::int64_t size = value.bits & 0x7FFF;
    return value.bits & 0x8000 ? -size : size;
  };
  return std::max(place(a), place(b)) - std::min(place(a), place(b));
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_STREAM_CHAIN_CHAIN_DEVICE_TEST_H_
