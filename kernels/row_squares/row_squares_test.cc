// Sums of squares against float64: every number of rows, widths around the chunks, both ways to read.
#include "kernels/row_squares/row_squares.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/testing/device_test.h"
#include "src/base/status_matchers.h"
#include "src/cuda/device_buffer.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {
namespace {

constexpr std::int64_t kMostRows = 16;

class RowSquaresTest : public DeviceTest {
 protected:
  // `offset`: elements in front of x, which take its alignment away. Sums lie between guards.
  std::vector<float> Sums(const std::vector<BFloat16>& x, std::int64_t rows, std::int64_t width,
                          std::int64_t offset) {
    // Nothing but the rows is there to be read: what lies around them is poison.
    std::vector<BFloat16> all(static_cast<std::size_t>(offset + rows * width + 8),
                              BFloat16{0xFFFF});
    std::copy_n(x.begin(), rows * width, all.begin() + offset);
    const DeviceBuffer operand = Upload(all);
    const DeviceBuffer sums = Bytes(static_cast<std::uint64_t>(kMostRows + 2) * sizeof(float));
    EXPECT_THAT(LaunchRowSquares({.x = operand.As<BFloat16>() + offset,
                                  .sums = sums.As<float>() + 1,
                                  .rows = rows,
                                  .width = width},
                                 stream()),
                IsOk());
    const std::vector<std::uint32_t> bits = Read<std::uint32_t>(sums);
    for (std::int64_t i = 0; i < kMostRows + 2; ++i) {
      if (i >= 1 && i <= rows) continue;
      EXPECT_EQ(bits[i], 0xFFFFFFFFu) << "written at " << i - 1;
    }
    const std::vector<float> values = Read<float>(sums);
    return {values.begin() + 1, values.begin() + 1 + rows};
  }
};

TEST_F(RowSquaresTest, AgreesWithFloat64) {
  for (const std::int64_t width : {1, 7, 8, 4096, 5121}) {
    const std::vector<BFloat16> x = Random("x", kMostRows * width, 3);
    for (std::int64_t rows = 1; rows <= kMostRows; ++rows) {
      SCOPED_TRACE(fmt::format("rows {} width {}", rows, width));
      const std::vector<float> sums = Sums(x, rows, width, 0);
      for (std::int64_t row = 0; row < rows; ++row) {
        double want = 0;
        for (std::int64_t i = 0; i < width; ++i) {
          const double value = x[row * width + i].ToDouble();
          want += value * value;
        }
        // Some twenty roundings of FP32 on the way of a term.
        ASSERT_NEAR(sums[row], want, 1e-5 * want) << "row " << row;
      }
      EXPECT_EQ(Sums(x, rows, width, 0), sums) << "in a second run";
      // Element by element, in the same order.
      EXPECT_EQ(Sums(x, rows, width, 1), sums) << "not aligned";
    }
  }
}

TEST_F(RowSquaresTest, ArgumentsAreChecked) {
  const DeviceBuffer x = Bytes(64), sums = Bytes(64);
  const RowSquaresArgs good = {
      .x = x.As<BFloat16>(), .sums = sums.As<float>(), .rows = 1, .width = 8};
  const auto refused = [&](RowSquaresArgs args, const char* reason) {
    EXPECT_THAT(LaunchRowSquares(args, stream()),
                StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr(reason)));
  };
  RowSquaresArgs args = good;
  args.x = nullptr;
  refused(args, "x is null");
  args = good;
  args.sums = nullptr;
  refused(args, "sums is null");
  args = good;
  args.width = 0;
  refused(args, "width");
  args = good;
  args.rows = -1;
  refused(args, "rows");
  args.rows = 0;
  EXPECT_THAT(LaunchRowSquares(args, stream()), IsOk());
  for (const std::uint8_t byte : Read<std::uint8_t>(sums)) ASSERT_EQ(byte, 0xFF);
}

}  // namespace
}  // namespace draftmark::kernels
