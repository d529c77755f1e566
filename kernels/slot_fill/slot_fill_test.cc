// What the registry's cases do not reach: slots of 32 bits, and first indices that lie in the
// records of the attention.
#include "kernels/slot_fill/slot_fill.h"

#include <cstdint>
#include <vector>

#include "kernels/device/slots.h"
#include "kernels/testing/device_test.h"
#include "src/base/status_matchers.h"
#include "src/cuda/device_buffer.h"

namespace draftmark::kernels {
namespace {

constexpr std::int64_t kBands = 3, kBand = 7, kTable = 4, kRows = kBands * kBand;
// In the middle of a block, across its end, and across the table's end.
constexpr std::uint32_t kFirst[kBands] = {3, 29, kTable * 16 - 2};

std::vector<std::uint32_t> Tables() {
  std::vector<std::uint32_t> tables(kBands * kTable);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    tables[i] = static_cast<std::uint32_t>(i * 5 % tables.size());
  }
  return tables;
}

// Slots of rows, as the spec's formula has them.
std::vector<std::int64_t> Expected(const std::vector<std::uint32_t>& tables) {
  std::vector<std::int64_t> slots;
  for (std::int64_t band = 0; band < kBands; ++band) {
    for (std::int64_t j = 0; j < kBand; ++j) {
      const std::int64_t m = kFirst[band] + j;
      slots.push_back(m < kTable * 16 ? std::int64_t{tables[band * kTable + m / 16]} * 16 + m % 16
                                      : -1);
    }
  }
  return slots;
}

class SlotFillTest : public DeviceTest {
 protected:
  // The first indices as word 1 of records of `words` words, all others poisoned.
  DeviceBuffer Records(std::int64_t words) {
    std::vector<std::uint32_t> records(kBands * words, 0xFFFFFFFF);
    for (std::int64_t band = 0; band < kBands; ++band) records[band * words + 1] = kFirst[band];
    return Upload(records);
  }
  // Fills `rows` slots of a buffer for kRows + 1 of them.
  template <typename Slot>
  std::vector<Slot> Fill(const std::vector<std::uint32_t>& tables, std::int64_t words) {
    const DeviceBuffer on_tables = Upload(tables), records = Records(words),
                       slots = Upload(std::vector<Slot>(kRows + 1, -77));
    EXPECT_THAT(LaunchSlotFill({.block_tables = on_tables.As<std::uint32_t>(),
                                .first = records.As<std::uint32_t>() + 1,
                                .slots = slots.As<Slot>(),
                                .rows = kRows,
                                .band = kBand,
                                .table = kTable,
                                .first_step = words},
                               stream()),
                IsOk());
    std::vector<Slot> values = Read<Slot>(slots);
    EXPECT_EQ(values.back(), -77) << "behind the last row";
    values.pop_back();
    return values;
  }
};

TEST_F(SlotFillTest, BothWidthsFromRecordsOfBothScratches) {
  const std::vector<std::int64_t> expected = Expected(Tables());
  ASSERT_EQ(expected.back(), -1);  // behind the table
  for (const std::int64_t words : {2, 3}) {
    EXPECT_EQ(Fill<std::int64_t>(Tables(), words), expected) << words << " words";
    const std::vector<std::int32_t> narrow = Fill<std::int32_t>(Tables(), words);
    EXPECT_EQ(std::vector<std::int64_t>(narrow.begin(), narrow.end()), expected)
        << words << " words";
  }
}

TEST_F(SlotFillTest, ASlotBehind32BitsIsKeptOrSkippedButNeverWrapped) {
  std::vector<std::uint32_t> tables = Tables();
  tables[0] = 0x07FFFFFF;           // the last block of 32-bit slots
  tables[kTable + 1] = 0x08000000;  // the first behind it: 2^31, negative when wrapped
  tables[kTable + 2] = 0x10000001;  // 2^32 + 16: 16 when wrapped
  const std::vector<std::int64_t> expected = Expected(tables);
  EXPECT_EQ(Fill<std::int64_t>(tables, 3), expected);
  const std::vector<std::int32_t> narrow = Fill<std::int32_t>(tables, 3);
  for (std::int64_t row = 0; row < kRows; ++row) {
    EXPECT_EQ(narrow[row], expected[row] <= INT32_MAX ? expected[row] : -1) << "row " << row;
  }
}

}  // namespace
}  // namespace draftmark::kernels
