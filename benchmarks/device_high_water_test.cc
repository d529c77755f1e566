#include "benchmarks/device_high_water.h"

#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

TEST(DeviceHighWater, IsTheMostOfAllLooks) {
  std::uint64_t free_bytes = 1000;
  DM_ASSERT_OK_AND_ASSIGN(DeviceHighWater water, DeviceHighWater::Begin([&] {
                            return StatusOr<std::uint64_t>(free_bytes);
                          }));
  EXPECT_EQ(water.bytes(), 0u);
  for (const std::uint64_t now : {900, 400, 700}) {
    free_bytes = now;
    ASSERT_THAT(water.Look(), IsOk());
  }
  EXPECT_EQ(water.bytes(), 600u);
  free_bytes = 2000;  // of another process
  ASSERT_THAT(water.Look(), IsOk());
  EXPECT_EQ(water.bytes(), 600u);
}

TEST(DeviceHighWater, WhoCannotAskHasAnError) {
  bool works = false;
  const auto ask = [&]() -> StatusOr<std::uint64_t> {
    if (works) return std::uint64_t{5};
    return UnavailableError("no device");
  };
  EXPECT_THAT(DeviceHighWater::Begin(ask), StatusIs(StatusCode::kUnavailable, "no device"));
  works = true;
  DM_ASSERT_OK_AND_ASSIGN(DeviceHighWater water, DeviceHighWater::Begin(ask));
  works = false;
  EXPECT_THAT(water.Look(), StatusIs(StatusCode::kUnavailable, "no device"));
}

}  // namespace
}  // namespace draftmark
