// A norm that adds to its rows first, against an addition and a norm: the same bits, also of rows wider than
// what a block holds. The norm alone is the registry's matter.
#include "kernels/rms_norm/rms_norm.h"

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "kernels/residual_add/residual_add.h"
#include "kernels/testing/device_test.h"
#include "src/base/status_matchers.h"
#include "src/cuda/device_buffer.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {
namespace {

class RmsNormTest : public DeviceTest {};

TEST_F(RmsNormTest, AddsFirst) {
  constexpr std::int64_t kRows = 3;
  for (const std::int64_t h : {7, 8, 4096, 5121, 32768, 40007, 65600}) {
    SCOPED_TRACE(fmt::format("h {}", h));
    const DeviceBuffer weight = Upload(Random("weight", h, 2)),
                       delta = Upload(Random("delta", kRows * h, 3)),
                       apart = Upload(Random("x", kRows * h, 3)),
                       together = Upload(Random("x", kRows * h, 3)),
                       y_apart = Bytes(static_cast<std::uint64_t>(kRows * h) * sizeof(BFloat16)),
                       y_together = Bytes(y_apart.bytes());
    ASSERT_THAT(
        LaunchResidualAdd(
            {.x = apart.As<BFloat16>(), .delta = delta.As<BFloat16>(), .rows = kRows, .width = h},
            stream()),
        IsOk());
    RmsNormArgs args = {.x = apart.As<BFloat16>(),
                        .weight = weight.As<BFloat16>(),
                        .epsilon = 1e-6F,
                        .y = y_apart.As<BFloat16>(),
                        .rows = kRows,
                        .h = h};
    ASSERT_THAT(LaunchRmsNorm(args, stream()), IsOk());
    args.x = together.As<BFloat16>();
    args.delta = delta.As<BFloat16>();
    args.sum = together.As<BFloat16>();
    args.y = y_together.As<BFloat16>();
    ASSERT_THAT(LaunchRmsNorm(args, stream()), IsOk());
    EXPECT_TRUE(Read<BFloat16>(together) == Read<BFloat16>(apart));
    EXPECT_TRUE(Read<BFloat16>(y_together) == Read<BFloat16>(y_apart));
  }
}

TEST_F(RmsNormTest, ArgumentsAreChecked) {
  const DeviceBuffer any = Bytes(4096), other = Bytes(4096);
  RmsNormArgs args = {.x = any.As<BFloat16>(),
                      .weight = any.As<BFloat16>(),
                      .y = any.As<BFloat16>(),
                      .delta = other.As<BFloat16>(),
                      .rows = 1,
                      .h = 8};
  EXPECT_THAT(LaunchRmsNorm(args, stream()),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("there together")));
  args.sum = any.As<BFloat16>();
  EXPECT_THAT(LaunchRmsNorm(args, stream()),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("neither x nor sum")));
}

}  // namespace
}  // namespace draftmark::kernels
