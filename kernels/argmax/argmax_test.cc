// Strides, which the registry's dense cases do not have: logits inside of wider rows, tokens of one
// step of several bands.
#include "kernels/argmax/argmax.h"

#include <vector>

#include "kernels/argmax/argmax_traits.h"
#include "kernels/testing/device_test.h"
#include "src/base/status_matchers.h"

namespace draftmark::kernels {
namespace {

using ArgmaxTest = DeviceTest;

TEST_F(ArgmaxTest, RowsAndTokensMayBeApart) {
  constexpr std::int64_t kRows = 5, kV = 5000, kStride = 5003, kStep = 3;
  std::vector<BFloat16> logits = Random("logits", kRows * kStride, 16);
  std::vector<std::uint32_t> expected(kRows * kStep, 0xFFFFFFFFu);
  for (std::int64_t row = 0; row < kRows; ++row) {
    // What lies between the rows is greater than anything in them.
    for (std::int64_t i = kV; i < kStride; ++i) {
      logits[row * kStride + i] = BFloat16::FromDouble(100);
    }
    const std::int64_t best = row * 1111 + 7;
    logits[row * kStride + best] = BFloat16::FromDouble(20);
    logits[row * kStride + kV - 1] = BFloat16::FromDouble(20);  // a tie, lost by the higher id
    expected[row * kStep] = static_cast<std::uint32_t>(best);
  }
  const DeviceBuffer on_device = Upload(logits),
                     tokens = Bytes(expected.size() * sizeof(std::uint32_t)),
                     workspace = Bytes(ArgmaxTraits::WorkspaceBytes(kRows, kV));
  ASSERT_THAT(LaunchArgmax({.logits = on_device.As<BFloat16>(),
                            .tokens = tokens.As<std::uint32_t>(),
                            .rows = kRows,
                            .v = kV,
                            .row_stride = kStride,
                            .token_step = kStep,
                            .workspace = workspace.address().value,
                            .workspace_bytes = workspace.bytes()},
                           stream()),
              IsOk());
  EXPECT_EQ(Read<std::uint32_t>(tokens), expected);
}

}  // namespace
}  // namespace draftmark::kernels
