// The header in C99 (testing/header_layout.c) and in C++: one layout, and the one that plug-ins out
// there were compiled with.
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/plugin/testing/header_layout.h"
#include "src/tensor/bfloat16.h"

namespace draftmark {
namespace {

TEST(HeaderTest, CAndCxxAgree) {
  const std::vector<std::size_t> here = DRAFTMARK_LAYOUT;
  std::size_t count = 0;
  const std::size_t* const c99 = LayoutInC99(&count);
  EXPECT_THAT(here, ::testing::ElementsAreArray(c99, count));
}

// Sizes and last offsets of ABI 1, on 64-bit machines. Whoever changes them changes the ABI; new
// fields go to the end, and only sizes change.
TEST(HeaderTest, TheLayoutOfAbi1) {
  static_assert(DRAFTMARK_PLUGIN_ABI == 1);
  const std::vector<std::size_t> here = DRAFTMARK_LAYOUT;
  EXPECT_THAT(here, ::testing::ElementsAre(16, 8, 16, 8, 56, 48, 72, 64, 24, 16, 48, 40, 48, 40, 72,
                                           64, 48, 40, 32, 24, 56, 48, 56, 48, 64, 56));
}

TEST(HeaderTest, AnswersFitTheirPlace) {
  char text[5] = "....";
  draftmark_message message = {text, 4};
  EXPECT_EQ(draftmark_answer(&message, DRAFTMARK_FAILED, "abcdef"), DRAFTMARK_FAILED);
  EXPECT_STREQ(text, "abc");
  EXPECT_EQ(draftmark_answer(&message, DRAFTMARK_UNSUPPORTED, "x"), DRAFTMARK_UNSUPPORTED);
  EXPECT_STREQ(text, "x");
  message.capacity = 0;
  draftmark_answer(&message, DRAFTMARK_FAILED, "y");
  EXPECT_STREQ(text, "x");
}

// Every BF16, and FP32 numbers around the midpoints between them.
TEST(HeaderTest, Bf16) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const BFloat16 value{static_cast<std::uint16_t>(bits)};
    const float wide = draftmark_from_bf16(value.bits);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(draftmark_from_bf16(draftmark_to_bf16(wide))));
      continue;
    }
    EXPECT_EQ(wide, value.ToDouble());
    EXPECT_EQ(draftmark_to_bf16(wide), value.bits);
    for (const std::uint32_t below : {0x7FFFu, 0x8000u, 0x8001u}) {
      const float between = std::bit_cast<float>(bits << 16 | below);
      if (std::isnan(between)) continue;
      EXPECT_EQ(draftmark_to_bf16(between), BFloat16::FromDouble(between).bits) << bits;
    }
  }
}

}  // namespace
}  // namespace draftmark
