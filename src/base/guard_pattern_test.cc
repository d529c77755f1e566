#include "src/base/guard_pattern.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"

namespace draftmark {
namespace {

template <typename T>
T Read(const std::vector<std::byte>& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

TEST(GuardPatternTest, IsNaNInEveryFormatAndNoIndex) {
  std::vector<std::byte> band(256);
  FillGuard(band, 0);
  for (std::size_t at = 0; at + 8 <= band.size(); at += 2) {
    const auto bits = Read<std::uint16_t>(band, at);
    EXPECT_TRUE((bits & 0x7F80) == 0x7F80 && (bits & 0x7F) != 0) << "BF16 at " << at;
    EXPECT_TRUE((bits & 0x7C00) == 0x7C00 && (bits & 0x3FF) != 0) << "FP16 at " << at;
    EXPECT_TRUE(std::isnan(Read<float>(band, at))) << at;
    EXPECT_TRUE(std::isnan(Read<double>(band, at))) << at;
    EXPECT_GE(Read<std::uint32_t>(band, at), 0xFFF1'0000u);
    EXPECT_LT(Read<std::int32_t>(band, at), -1);
    EXPECT_LT(Read<std::int64_t>(band, at), -1);
  }
}

// Found by an attack: the pattern was a constant 0xFF once, and padded slots of -1 went unseen.
TEST(GuardPatternTest, NoConstantIsUnseen) {
  for (int constant = 0; constant < 256; ++constant) {
    for (const std::size_t length : {2u, 4u, 8u}) {
      for (std::size_t at = 0; at + length <= 64; ++at) {
        std::vector<std::byte> band(64);
        FillGuard(band, 0);
        std::memset(band.data() + at, constant, length);
        const auto broken = FirstBrokenGuard(band, 0);
        ASSERT_TRUE(broken.has_value()) << constant << " over " << length << " bytes at " << at;
        EXPECT_GE(*broken, at);
        EXPECT_LT(*broken, at + length);
      }
    }
  }
}

TEST(GuardPatternTest, BandsBeginAnywhere) {
  for (const std::uint64_t first : {0, 1, 7, 4096}) {
    std::vector<std::byte> band(100);
    FillGuard(band, first);
    EXPECT_EQ(FirstBrokenGuard(band, first), std::nullopt);
    EXPECT_NE(FirstBrokenGuard(band, first + 2), std::nullopt);
    band[99] ^= std::byte{0x10};
    EXPECT_EQ(FirstBrokenGuard(band, first), 99u);
  }
}

}  // namespace
}  // namespace draftmark
