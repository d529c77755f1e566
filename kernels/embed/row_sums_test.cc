// The sums of squares that embedding leaves, against float64; what it writes is the registry's matter.
#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "kernels/embed/embed.h"
#include "kernels/embed/embed_traits.h"
#include "kernels/slot_fill/slot_fill.h"
#include "kernels/testing/device_test.h"
#include "src/base/status_matchers.h"
#include "src/cuda/device_buffer.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {
namespace {

class EmbedRowSumsTest : public DeviceTest {};

TEST_F(EmbedRowSumsTest, AreThoseOfWhatIsWritten) {
  constexpr std::int64_t kVocabulary = 5, kRows = 11;
  const std::vector<std::uint32_t> tokens = {4, 0, 1, 2, 3, 4, 0, 1, 1, 2, 3};
  for (const std::int64_t h : {1, 64, 1023, 1024, 1032, 5120}) {
    SCOPED_TRACE(fmt::format("h {}", h));
    const std::int64_t parts = EmbedTraits::SumParts(h);
    const DeviceBuffer table = Upload(Random("table", kVocabulary * h, 3));
    const DeviceBuffer ids = Upload(tokens);
    const DeviceBuffer out = Bytes(static_cast<std::uint64_t>(kRows * h) * sizeof(BFloat16));
    const DeviceBuffer sums = Bytes(static_cast<std::uint64_t>((parts + 1) * 16) * sizeof(float));
    ASSERT_THAT(LaunchEmbed({.ids = ids.As<std::uint32_t>(),
                             .table = table.As<BFloat16>(),
                             .scale = 1.7F,
                             .out = out.As<BFloat16>(),
                             .rows = kRows,
                             .vocabulary = kVocabulary,
                             .h = h,
                             .row_sums = sums.As<float>()},
                            stream()),
                IsOk());
    const std::vector<BFloat16> written = Read<BFloat16>(out);
    const std::vector<float> found = Read<float>(sums);
    const std::vector<std::uint32_t> bits = Read<std::uint32_t>(sums);
    for (std::int64_t row = 0; row < 16; ++row) {
      double sum = 0, want = 0;
      for (std::int64_t part = 0; part <= parts; ++part) {
        const std::int64_t at = part * 16 + row;
        if (row < kRows && part < parts) {
          sum += found[at];
        } else {
          ASSERT_EQ(bits[at], 0xFFFFFFFFu) << "written: part " << part << " row " << row;
        }
      }
      for (std::int64_t i = 0; row < kRows && i < h; ++i) {
        const double value = written[row * h + i].ToDouble();
        want += value * value;
      }
      ASSERT_NEAR(sum, want, 1e-5 * want) << "row " << row;
    }
  }
}

// In one launch, and by a launch each: slots of both widths, and the same rows.
TEST_F(EmbedRowSumsTest, SlotsComeAlong) {
  constexpr std::int64_t kRows = 10, kBand = 5, kTable = 3, kWidth = 72;
  const DeviceBuffer ids = Upload(std::vector<std::uint32_t>{3, 0, 1, 2, 3, 1, 0, 1, 1, 2});
  const DeviceBuffer table = Upload(Random("table", 4 * kWidth, 3));
  const DeviceBuffer tables = Upload(std::vector<std::uint32_t>{7, 4, 9, 2, 11, 5});
  const DeviceBuffer first = Upload(std::vector<std::uint32_t>{14, 99, 45, 99});
  const auto run = [&](Slots slots, bool together) {
    const DeviceBuffer out = Bytes(static_cast<std::uint64_t>(kRows * kWidth) * sizeof(BFloat16));
    const EmbedArgs embed = {.ids = ids.As<std::uint32_t>(),
                             .table = table.As<BFloat16>(),
                             .out = out.As<BFloat16>(),
                             .rows = kRows,
                             .vocabulary = 4,
                             .h = kWidth};
    const SlotFillArgs fill = {.block_tables = tables.As<std::uint32_t>(),
                               .first = first.As<std::uint32_t>(),
                               .slots = slots,
                               .rows = kRows,
                               .band = kBand,
                               .table = kTable,
                               .first_step = 2};
    if (together) {
      EXPECT_THAT(LaunchEmbedWithSlots(embed, fill, stream()), IsOk());
    } else {
      EXPECT_THAT(LaunchEmbed(embed, stream()), IsOk());
      EXPECT_THAT(LaunchSlotFill(fill, stream()), IsOk());
    }
    return Read<BFloat16>(out);
  };
  const DeviceBuffer wide = Bytes(kRows * sizeof(std::int64_t)),
                     narrow = Bytes(kRows * sizeof(std::int32_t));
  const std::vector<BFloat16> apart = run(wide.As<std::int64_t>(), false);
  // Rows 14 to 18 of the first band; 45 to 49 of the second one, whose table ends at 48.
  const std::vector<std::int64_t> expected = {7 * 16 + 14, 7 * 16 + 15, 4 * 16,      4 * 16 + 1,
                                              4 * 16 + 2,  5 * 16 + 13, 5 * 16 + 14, 5 * 16 + 15,
                                              -1,          -1};
  EXPECT_EQ(Read<std::int64_t>(wide), expected);
  Set(wide, 0xAA);
  EXPECT_EQ(run(wide.As<std::int64_t>(), true), apart);
  EXPECT_EQ(Read<std::int64_t>(wide), expected);
  EXPECT_EQ(run(narrow.As<std::int32_t>(), true), apart);
  EXPECT_EQ(Read<std::int32_t>(narrow),
            std::vector<std::int32_t>(expected.begin(), expected.end()));
}

TEST_F(EmbedRowSumsTest, AreOfSixteenRowsAtMost) {
  const DeviceBuffer any = Bytes(4096);
  EXPECT_THAT(LaunchEmbed({.ids = any.As<std::uint32_t>(),
                           .table = any.As<BFloat16>(),
                           .out = any.As<BFloat16>(),
                           .rows = 17,
                           .vocabulary = 1,
                           .h = 8,
                           .row_sums = any.As<float>()},
                          stream()),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("at most 16 rows")));
}

}  // namespace
}  // namespace draftmark::kernels
