// What the registry's cases do not reach: slots of 32 bits, and positions beside the slots.
#include "kernels/kv_write/kv_write.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "kernels/device/slots.h"
#include "kernels/testing/device_test.h"
#include "src/base/status_matchers.h"
#include "src/cuda/device_buffer.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {
namespace {

constexpr std::int64_t kRows = 9, kPoolSlots = 48;
// Two rows to be skipped: a negative slot, and one behind the pool.
constexpr std::int64_t kSlots[kRows] = {17, 0, -1, 47, 5, kPoolSlots, 16, 31, 2};
constexpr std::int32_t kUntouched = -123;

class KvWriteTest : public DeviceTest {
 protected:
  struct Cache {
    std::vector<BFloat16> k, v;
    std::vector<std::int32_t> positions;
    bool operator==(const Cache&) const = default;
  };

  static std::vector<std::int32_t> Positions() {
    std::vector<std::int32_t> positions(kRows);
    for (std::int32_t row = 0; row < kRows; ++row) positions[row] = 1000 + 7 * row;
    return positions;
  }
  static Cache Before(std::int64_t width) {
    return {Random("k_pool", kPoolSlots * width, 1), Random("v_pool", kPoolSlots * width, 1),
            std::vector<std::int32_t>(kPoolSlots, kUntouched)};
  }
  static Cache Expected(std::int64_t width, bool with_positions) {
    const std::vector<BFloat16> k = Random("k", kRows * width, 2),
                                v = Random("v", kRows * width, 2);
    Cache cache = Before(width);
    for (std::int64_t row = 0; row < kRows; ++row) {
      const std::int64_t slot = kSlots[row];
      if (slot < 0 || slot >= kPoolSlots) continue;
      std::copy_n(k.begin() + row * width, width, cache.k.begin() + slot * width);
      std::copy_n(v.begin() + row * width, width, cache.v.begin() + slot * width);
      if (with_positions) cache.positions[slot] = Positions()[row];
    }
    return cache;
  }
  template <typename Slot>
  Cache Written(std::int64_t width, bool with_positions) {
    const Cache before = Before(width);
    const DeviceBuffer k = Upload(Random("k", kRows * width, 2)),
                       v = Upload(Random("v", kRows * width, 2)),
                       slots = Upload(std::vector<Slot>(std::begin(kSlots), std::end(kSlots))),
                       positions = Upload(Positions()), k_pool = Upload(before.k),
                       v_pool = Upload(before.v), slot_positions = Upload(before.positions);
    KvWriteArgs args = {.k = k.As<BFloat16>(),
                        .v = v.As<BFloat16>(),
                        // As a draft has them, which fills them itself.
                        .slots = ReadOnly(Slots(slots.As<Slot>())),
                        .k_pool = k_pool.As<BFloat16>(),
                        .v_pool = v_pool.As<BFloat16>(),
                        .rows = kRows,
                        .width = width,
                        .pool_slots = kPoolSlots};
    if (with_positions) {
      args.positions = positions.As<std::int32_t>();
      args.slot_positions = slot_positions.As<std::int32_t>();
    }
    EXPECT_THAT(LaunchKvWrite(args, stream()), IsOk());
    return {Read<BFloat16>(k_pool), Read<BFloat16>(v_pool), Read<std::int32_t>(slot_positions)};
  }
};

TEST_F(KvWriteTest, SlotsOfBothWidthsWithAndWithoutPositions) {
  for (const std::int64_t width : {64, 27}) {  // by 16 bytes, and element by element
    for (const bool with_positions : {false, true}) {
      const Cache expected = Expected(width, with_positions);
      EXPECT_TRUE(Written<std::int64_t>(width, with_positions) == expected)
          << "width " << width << " positions " << with_positions;
      EXPECT_TRUE(Written<std::int32_t>(width, with_positions) == expected)
          << "width " << width << " positions " << with_positions;
    }
  }
}

}  // namespace
}  // namespace draftmark::kernels
