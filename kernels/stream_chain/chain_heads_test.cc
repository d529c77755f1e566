// Heads steps against the kernels of every GPU: head_norm, rope and kv_write.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/device/slots.h"
#include "kernels/head_norm/head_norm.h"
#include "kernels/kv_write/kv_write.h"
#include "kernels/rope/rope.h"
#include "kernels/stream_chain/chain_device_test.h"
#include "kernels/stream_chain/stream_chain.h"
#include "src/base/status_matchers.h"
#include "src/cuda/device_buffer.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {
namespace {

constexpr float kEpsilon = 1e-5F;
constexpr std::int64_t kPoolSlots = 64;

struct Shape {
  std::int64_t rows = 0, heads = 0, d = 0, rotary = 0, partner = 0;
  std::int64_t width() const { return heads * d; }
  std::int64_t stride() const { return width() + 24; }  // other things lie between the rows
  std::string Name() const {
    return fmt::format("rows {} heads {} d {} rotary {} partner {}", rows, heads, d, rotary,
                       partner);
  }
};
constexpr Shape kShapes[] = {
    {16, 4, 128, 128, 64},  // the usual one
    {1, 1, 64, 32, 16},     // the first part of a head
    {9, 3, 80, 40, 40},     // pairs across the head, d no multiple of a warp
    {50, 50, 256, 64, 32},  // more heads than the grid has warps
};

class StreamHeadsTest : public ChainDeviceTest {
 protected:
  void Prepare(const Shape& shape) {
    shape_ = shape;
    x_ = Random("x", shape.rows * shape.stride(), 3);
    std::vector<float> frequency(static_cast<std::size_t>(shape.rotary / 2));
    for (std::size_t i = 0; i < frequency.size(); ++i) {
      frequency[i] = static_cast<float>(
          std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(frequency.size())));
    }
    std::vector<std::int32_t> positions(static_cast<std::size_t>(shape.rows));
    slots_.assign(positions.size(), 0);
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      positions[row] = static_cast<std::int32_t>(row * row * 97);
      // 29 and the number of slots have no common divisor: every row has its own.
      slots_[row] = row % 5 == 3 ? -1 : (row * 29 + 7) % kPoolSlots;
    }
    if (shape.rows > 4) slots_[4] = kPoolSlots;  // behind the pool
    frequency_ = Upload(frequency);
    positions_ = Upload(positions);
    norm_ = Upload(Random("norm", shape.d, 2));
    slots64_ = Upload(slots_);
    slots32_ = Upload(std::vector<std::int32_t>(slots_.begin(), slots_.end()));
  }

  StreamHeads Heads(const BFloat16* x, bool norm, bool rope) const {
    StreamHeads heads = {.x = x,
                         .x_stride = shape_.stride(),
                         .rows = shape_.rows,
                         .heads = shape_.heads,
                         .d = shape_.d};
    if (norm) {
      heads.norm_weight = norm_.As<BFloat16>();
      heads.epsilon = kEpsilon;
    }
    heads.positions = positions_.As<std::int32_t>();
    if (rope) {
      heads.frequency = frequency_.As<float>();
      heads.amplitude = kAmplitude;
      heads.rotary = shape_.rotary;
      heads.partner = shape_.partner;
    }
    return heads;
  }

  // What the rows hold, without what lies between them.
  std::vector<BFloat16> Packed(const std::vector<BFloat16>& strided) const {
    std::vector<BFloat16> packed;
    for (std::int64_t row = 0; row < shape_.rows; ++row) {
      const auto from = strided.begin() + row * shape_.stride();
      packed.insert(packed.end(), from, from + shape_.width());
    }
    return packed;
  }
  // By the other kernels, [rows, heads, d].
  DeviceBuffer Reference(bool norm, bool rope) {
    DeviceBuffer y = Upload(Packed(x_));
    if (norm) {
      EXPECT_THAT(LaunchHeadNorm({.x = y.As<BFloat16>(),
                                  .weight = norm_.As<BFloat16>(),
                                  .epsilon = kEpsilon,
                                  .y = y.As<BFloat16>(),
                                  .rows = shape_.rows,
                                  .heads = shape_.heads,
                                  .d = shape_.d},
                                 stream()),
                  IsOk());
    }
    if (rope) {
      EXPECT_THAT(LaunchRope({.x = y.As<BFloat16>(),
                              .frequency = frequency_.As<float>(),
                              .positions = positions_.As<std::int32_t>(),
                              .amplitude = kAmplitude,
                              .rows = shape_.rows,
                              .heads = shape_.heads,
                              .d = shape_.d,
                              .rotary = shape_.rotary,
                              .partner = shape_.partner},
                             stream()),
                  IsOk());
    }
    return y;
  }

  // Heads [count, d]. The sum of squares is added in another order: a normed element may be a step of BF16
  // aside, and a pair that turns takes its error along.
  void Compare(const std::vector<BFloat16>& got, const std::vector<BFloat16>& want, bool norm,
               bool rope) const {
    ASSERT_EQ(got.size(), want.size());
    if (!norm) {
      ASSERT_TRUE(got == want);
      return;
    }
    std::int64_t different = 0;
    for (std::int64_t i = 0; i < std::ssize(got); ++i) {
      if (got[i] == want[i]) continue;  // poison, too
      ++different;
      if (!rope) {
        ASSERT_LE(StepsBetween(got[i], want[i]), 1) << i;
        continue;
      }
      const std::int64_t column = i % shape_.d, pairs = shape_.rotary / 2;
      const bool low = column < pairs;
      const bool high = column >= shape_.partner && column < shape_.partner + pairs;
      const double partner = low    ? want[i + shape_.partner].ToDouble()
                             : high ? want[i - shape_.partner].ToDouble()
                                    : 0;
      ASSERT_LE(std::abs(got[i].ToDouble() - want[i].ToDouble()),
                std::hypot(want[i].ToDouble(), partner) / 60)
          << i;
    }
    // A scale that is an ulp aside moves few roundings.
    EXPECT_LE(different, std::ssize(got) / 100 + 3);
  }

  static constexpr float kAmplitude = 1.1F;
  Shape shape_;
  std::vector<BFloat16> x_;  // strided
  std::vector<std::int64_t> slots_;
  DeviceBuffer frequency_, positions_, norm_, slots64_, slots32_;
};

// Queries: in place, or elsewhere.
TEST_F(StreamHeadsTest, NormsAndTurnsRows) {
  for (const Shape& shape : kShapes) {
    Prepare(shape);
    const std::int64_t last = (shape.rows - 1) * shape.stride() + shape.width();
    for (const bool norm : {false, true}) {
      for (const bool rope : {false, true}) {
        const std::vector<BFloat16> want = Read<BFloat16>(Reference(norm, rope));
        for (const bool in_place : {false, true}) {
          SCOPED_TRACE(
              fmt::format("{} norm {} rope {} in place {}", shape.Name(), norm, rope, in_place));
          const DeviceBuffer x = Upload(x_);
          const Output<BFloat16> elsewhere = MakeOutput<BFloat16>(shape.rows * shape.stride());
          StreamHeads heads = Heads(x.As<BFloat16>(), norm, rope);
          heads.y = in_place ? x.As<BFloat16>() : elsewhere.data();
          heads.y_stride = shape.stride();
          ASSERT_THAT(LaunchStep(std::vector<StreamHeads>{heads}), IsOk());
          const std::vector<BFloat16> y = in_place ? Read<BFloat16>(x) : Take(elsewhere);
          ASSERT_NO_FATAL_FAILURE(Compare(Packed(y), want, norm, rope));
          // Between the rows, and behind the last.
          for (std::int64_t i = 0; i < std::ssize(y); ++i) {
            if (i < last && i % shape.stride() < shape.width()) continue;
            ASSERT_EQ(y[i].bits, in_place ? x_[i].bits : 0xFFFF) << i;
          }
          ASSERT_TRUE(in_place || Read<BFloat16>(x) == x_);
        }
      }
    }
  }
}

// Keys and values of one step, into a cache that is poison before; some rows have no slot.
TEST_F(StreamHeadsTest, WritesTheCache) {
  for (const Shape& shape : kShapes) {
    Prepare(shape);
    const std::uint64_t pool_bytes =
        static_cast<std::uint64_t>(kPoolSlots * shape.width()) * sizeof(BFloat16);
    for (const bool norm : {false, true}) {
      const bool rope = true;
      const DeviceBuffer keys = Reference(norm, rope), values = Reference(false, false),
                         want_k = Bytes(pool_bytes), want_v = Bytes(pool_bytes),
                         want_positions = Bytes(kPoolSlots * sizeof(std::int32_t));
      ASSERT_THAT(LaunchKvWrite({.k = keys.As<BFloat16>(),
                                 .v = values.As<BFloat16>(),
                                 .slots = ReadOnly(Slots(slots64_.As<std::int64_t>())),
                                 .positions = positions_.As<std::int32_t>(),
                                 .k_pool = want_k.As<BFloat16>(),
                                 .v_pool = want_v.As<BFloat16>(),
                                 .slot_positions = want_positions.As<std::int32_t>(),
                                 .rows = shape.rows,
                                 .width = shape.width(),
                                 .pool_slots = kPoolSlots},
                                stream()),
                  IsOk());
      for (const bool wide : {true, false}) {
        SCOPED_TRACE(
            fmt::format("{} norm {} slots of {} bits", shape.Name(), norm, wide ? 64 : 32));
        const DeviceBuffer x = Upload(x_);
        const Output<BFloat16> k_pool = MakeOutput<BFloat16>(kPoolSlots * shape.width()),
                               v_pool = MakeOutput<BFloat16>(kPoolSlots * shape.width());
        const Output<std::int32_t> slot_positions = MakeOutput<std::int32_t>(kPoolSlots);
        std::vector<StreamHeads> step = {Heads(x.As<BFloat16>(), norm, rope),
                                         Heads(x.As<BFloat16>(), false, false)};
        step[0].pool = k_pool.data();
        step[0].slot_positions = slot_positions.data();
        step[1].pool = v_pool.data();
        for (StreamHeads& heads : step) {
          heads.pool_slots = kPoolSlots;
          if (wide) {
            heads.slots64 = slots64_.As<std::int64_t>();
          } else {
            heads.slots32 = slots32_.As<std::int32_t>();
          }
        }
        ASSERT_THAT(LaunchStep(step), IsOk());
        const std::vector<BFloat16> got_k = Take(k_pool), expected_k = Read<BFloat16>(want_k);
        ASSERT_NO_FATAL_FAILURE(Compare(got_k, expected_k, norm, rope));
        ASSERT_TRUE(Take(v_pool) == Read<BFloat16>(want_v));
        ASSERT_EQ(Take(slot_positions), Read<std::int32_t>(want_positions));
        // Slots of no row keep every bit, also where Compare would allow a step.
        for (std::int64_t slot = 0; slot < kPoolSlots; ++slot) {
          if (std::count(slots_.begin(), slots_.end(), slot) > 0) continue;
          for (std::int64_t i = 0; i < shape.width(); ++i) {
            ASSERT_EQ(got_k[slot * shape.width() + i].bits, 0xFFFF) << "slot " << slot;
          }
        }
        ASSERT_TRUE(Read<BFloat16>(x) == x_);
      }
    }
  }
}

// Without a chain: the same bits, of heads of different sizes in one launch.
TEST_F(StreamHeadsTest, AloneTheyHaveTheSameBits) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(shape.Name());
    Prepare(shape);
    const DeviceBuffer x = Upload(x_);
    const auto run = [&](const auto& launch) {
      const DeviceBuffer y = Bytes(static_cast<std::uint64_t>(shape.rows * shape.stride()) * 2),
                         pool = Bytes(static_cast<std::uint64_t>(kPoolSlots * shape.width()) * 2);
      StreamHeads rows = Heads(x.As<BFloat16>(), true, true);
      rows.y = y.As<BFloat16>();
      rows.y_stride = shape.stride();
      StreamHeads few = Heads(x.As<BFloat16>(), true, true);
      few.rows = (shape.rows + 1) / 2;
      few.heads = 1;
      few.pool = pool.As<BFloat16>();
      few.pool_slots = kPoolSlots;
      few.slots64 = slots64_.As<std::int64_t>();
      EXPECT_THAT(launch({rows, few}), IsOk());
      std::vector<BFloat16> all = Read<BFloat16>(y);
      const std::vector<BFloat16> cached = Read<BFloat16>(pool);
      all.insert(all.end(), cached.begin(), cached.end());
      return all;
    };
    using Steps = std::vector<StreamHeads>;
    EXPECT_TRUE(run([&](const Steps& heads) { return LaunchHeads(heads, stream()); }) ==
                run([&](const Steps& heads) { return LaunchStep(heads); }));
  }
  EXPECT_THAT(LaunchHeads({}, stream()),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("heads")));
}

// Both at once: rows and their copies in the cache are the same.
TEST_F(StreamHeadsTest, RowsAndCacheAtOnce) {
  Prepare(kShapes[0]);
  const DeviceBuffer x = Upload(x_);
  const std::int64_t width = shape_.width();
  const Output<BFloat16> pool = MakeOutput<BFloat16>(kPoolSlots * width);
  StreamHeads heads = Heads(x.As<BFloat16>(), true, true);
  heads.y = x.As<BFloat16>();
  heads.y_stride = shape_.stride();
  heads.pool = pool.data();
  heads.pool_slots = kPoolSlots;
  heads.slots32 = slots32_.As<std::int32_t>();
  ASSERT_THAT(LaunchStep(std::vector<StreamHeads>{heads}), IsOk());
  const std::vector<BFloat16> rows = Packed(Read<BFloat16>(x)), cached = Take(pool);
  ASSERT_NO_FATAL_FAILURE(
      Compare(rows, Read<BFloat16>(Reference(true, true)), /*norm=*/true, /*rope=*/true));
  for (std::int64_t row = 0; row < shape_.rows; ++row) {
    const std::int64_t slot = slots_[row];
    if (slot < 0 || slot >= kPoolSlots) continue;
    for (std::int64_t i = 0; i < width; ++i) {
      ASSERT_EQ(cached[slot * width + i].bits, rows[row * width + i].bits) << "row " << row;
    }
  }
}

// Projection, heads, projection: at once, and step by step.
TEST_F(StreamHeadsTest, BetweenLinearSteps) {
  Prepare({16, 4, 128, 128, 64});
  constexpr std::int64_t kIn = 320, kWidth = 512, kOut = 200, kRows = 16;
  const DeviceBuffer x = Upload(Random("in", kRows * kIn, 2)),
                     w = Upload(Random("w", kWidth * kIn, 0.1)),
                     o = Upload(Random("o", kOut * kWidth, 0.1));
  const auto run = [&](bool at_once) {
    const Output<BFloat16> q = MakeRows<BFloat16>(kRows, kWidth),
                           y = MakeRows<BFloat16>(kRows, kOut);
    StreamLinear first = {.x = x.As<BFloat16>(), .rows = kRows, .k = kIn};
    first.parts[0] = {.weight = w.As<BFloat16>(), .y = q.data(), .n = kWidth};
    StreamHeads heads = Heads(q.data(), true, true);
    heads.x_stride = kWidth;
    heads.y = q.data();
    heads.y_stride = kWidth;
    StreamLinear last = {.x = q.data(), .rows = kRows, .k = kWidth};
    last.parts[0] = {.weight = o.As<BFloat16>(), .y = y.data(), .n = kOut};
    if (at_once) {
      StreamChain chain;
      chain.Add(first);
      chain.Add({heads});
      chain.Add(last);
      EXPECT_THAT(Launch(chain), IsOk());
    } else {
      EXPECT_THAT(LaunchStep(first), IsOk());
      EXPECT_THAT(LaunchStep(std::vector<StreamHeads>{heads}), IsOk());
      EXPECT_THAT(LaunchStep(last), IsOk());
    }
    std::vector<BFloat16> results = Take(q);
    const std::vector<BFloat16> out = Take(y);
    results.insert(results.end(), out.begin(), out.end());
    return results;
  };
  const std::vector<BFloat16> want = run(false);
  for (const BFloat16 value : want) ASSERT_FALSE(std::isnan(value.ToFloat()));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(run(true) == want) << "repetition " << i;
  EXPECT_EQ(Counter(), 0u);
}

TEST_F(StreamHeadsTest, ArgumentsAreChecked) {
  Prepare(kShapes[0]);
  const DeviceBuffer x = Upload(x_);
  const Output<BFloat16> pool = MakeOutput<BFloat16>(kPoolSlots * shape_.width());
  const StreamHeads good = Heads(x.As<BFloat16>(), true, true);
  const auto refused = [&](const StreamHeads& heads, const char* reason) {
    EXPECT_THAT(LaunchStep(std::vector<StreamHeads>{heads}),
                StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr(reason)));
  };
  StreamHeads heads = good;
  heads.x = nullptr;
  refused(heads, "x is null");
  heads = good;
  heads.d = 257;
  refused(heads, "expected d in [1, 256], found 257");
  heads = good;
  heads.positions = nullptr;
  refused(heads, "RoPE has positions");
  heads = good;
  heads.partner = heads.d;
  refused(heads, "pairs lie in the head");
  heads.partner = INT64_MAX;
  refused(heads, "pairs lie in the head");
  heads = good;
  heads.heads = INT64_MAX;
  refused(heads, "expected heads in [1, 2147483647]");
  heads = good;
  heads.pool = pool.data();
  heads.pool_slots = kPoolSlots;
  refused(heads, "a pool has slots of one width");
  heads.slots64 = slots64_.As<std::int64_t>();
  heads.slots32 = slots32_.As<std::int32_t>();
  refused(heads, "a pool has slots of one width");
  EXPECT_THAT(LaunchStep(std::vector<StreamHeads>(25, good)),
              StatusIs(StatusCode::kInvalidArgument,
                       ::testing::HasSubstr("expected heads in [1, 24], found 25")));
  for (const BFloat16 value : Take(pool)) ASSERT_EQ(value.bits, 0xFFFF);
}

}  // namespace
}  // namespace draftmark::kernels
