#include "src/perf/dashboard/series_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "src/base/counter_hash.h"
#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;
using Values = std::vector<std::optional<double>>;

Values RoundTrip(const Values& values) { return DecodeSeries(EncodeSeries(values)).value(); }

// Worked by hand: 200,000 and 250,000 units of 1e-5, none, 200,000. 1 + 2 x 200,000 = 400,001 is
// 0x81 0xB5 0x18 in groups of seven bits; 1 + 2 x 50,000 is 0xA1 0x8D 0x06; 0; 1 + (2 x 50,000 - 1)
// is 0xA0 0x8D 0x06.
TEST(SeriesCodeTest, Format) {
  const SeriesCode code = EncodeSeries(Values{2.0, 2.5, std::nullopt, 2.0});
  EXPECT_EQ(code.exponent, -5);
  EXPECT_EQ(code.base64, "gbUYoY0GAKCNBg==");
  EXPECT_EQ(EncodeSeries(Values{2.01e-6, 1.99e-6}).exponent, -11);  // 199,000 units
}

TEST(SeriesCodeTest, RoundTripsToOnePartInAHundredThousand) {
  for (const double level : {3.7e-9, 1.0, 9.99999e-7, 1e-6, 123456.0, 4e12}) {
    Values values;
    for (std::uint64_t i = 0; i < 500; ++i) {
      values.push_back(i % 7 == 3 ? std::nullopt
                                  : std::optional(level * (0.5 + UniformAt(9, i) * 2)));
    }
    const Values read = RoundTrip(values);
    ASSERT_EQ(read.size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(read[i].has_value(), values[i].has_value()) << i;
      if (!values[i]) continue;
      EXPECT_NEAR(*read[i] / *values[i], 1, 1e-5) << level << " at " << i;
    }
  }
}

TEST(SeriesCodeTest, WhatIsNoTimeIsLeftOut) {
  const double infinite = std::numeric_limits<double>::infinity();
  const Values read = RoundTrip({1.0, 0.0, -1.0, infinite, std::nan(""), 1e300, 2.0});
  ASSERT_EQ(read.size(), 7u);
  for (const std::size_t i : {1, 2, 3, 4, 5}) EXPECT_FALSE(read[i]) << i;
  EXPECT_DOUBLE_EQ(read[6].value(), 2.0);
  EXPECT_EQ(RoundTrip({}), Values{});
  EXPECT_EQ(RoundTrip({std::nullopt}), Values{std::nullopt});
}

TEST(SeriesCodeTest, FourHundredNightsTakeTwelveHundredCharacters) {
  Values values;
  for (std::uint64_t i = 0; i < 400; ++i) values.push_back(1e-5 * (1 + 0.01 * UniformAt(3, i)));
  EXPECT_LT(EncodeSeries(values).base64.size(), 1300u);
}

TEST(SeriesCodeTest, DamagedTextIsAnError) {
  EXPECT_THAT(DecodeSeries({.base64 = "A"}), StatusIs(StatusCode::kDataLoss, HasSubstr("series")));
  EXPECT_THAT(DecodeSeries({.base64 = "A*=="}),
              StatusIs(StatusCode::kDataLoss, HasSubstr("series")));
  EXPECT_THAT(DecodeSeries({.base64 = "gA=="}),
              StatusIs(StatusCode::kDataLoss, HasSubstr("series")));  // 0x80 alone
  EXPECT_THAT(DecodeSeries({.base64 = "gICAgICAgICAgICAAA=="}),
              StatusIs(StatusCode::kDataLoss, HasSubstr("series")));
}

}  // namespace
}  // namespace draftmark
