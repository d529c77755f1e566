// Masks by positions (spec/drafter.md section 4.4) against attention in float64 on the host:
// histories with gaps, both scratches' records, and context and block in one row buffer.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <ostream>
#include <vector>

#include "kernels/paged_attention/paged_attention.h"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "kernels/testing/device_test.h"
#include "src/base/counter_hash.h"
#include "src/base/status_matchers.h"
#include "src/cuda/device_buffer.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {
namespace {

using Traits = PagedAttentionTraits;

static_assert(Traits::MostWorkspaceBytes(3, 1, 8, 2, 64) == Traits::WorkspaceBytes(3, 1, 8, 2, 64));
// Not the last row count's: 9 rows are the first with half of the splits.
static_assert(Traits::Splits(8, 64, 8) == 32 && Traits::Splits(9, 64, 8) == 17);
static_assert(Traits::MostWorkspaceBytes(2, 9, 64, 8, 128) ==
              Traits::WorkspaceBytes(2, 8, 64, 8, 128));
static_assert(Traits::WorkspaceBytes(2, 8, 64, 8, 128) > Traits::WorkspaceBytes(2, 9, 64, 8, 128));

struct Mask {
  std::int64_t window = 0;
  bool causal = false;

  // The spec's table, line by line.
  bool Shows(std::int64_t row, std::int64_t key) const {
    if (window == 0) return !causal || key <= row;
    if (causal) return row - key >= 0 && row - key < window;
    return std::abs(row - key) < window;
  }
};
std::ostream& operator<<(std::ostream& os, const Mask& mask) {
  return os << (mask.causal ? "causal" : "two-sided") << " window " << mask.window;
}

constexpr Mask kMasks[] = {{0, false},  {0, true},  {1, false},  {1, true},
                           {24, false}, {24, true}, {90, false}, {90, true}};

enum class Gaps { kNone, kScattered, kBeforeBlock };

// Positions of `context` rows and of `block` rows behind them.
std::vector<std::int32_t> Positions(Gaps gaps, std::int64_t context, std::int64_t block,
                                    std::int64_t window) {
  std::vector<std::int32_t> positions;
  std::int32_t next = 5000;
  for (std::int64_t m = 0; m < context + block; ++m) {
    if (gaps == Gaps::kScattered && m <= context && BitsAt(SeedOf("gaps"), m) % 4 == 0) {
      next += static_cast<std::int32_t>(1 + BitsAt(SeedOf("widths"), m) % 9);
    }
    if (gaps == Gaps::kBeforeBlock && m == context) next += static_cast<std::int32_t>(window + 3);
    positions.push_back(next++);
  }
  return positions;
}

struct Shape {
  std::int64_t rows = 0, heads = 0, kv = 0, d = 0;
};

std::vector<double> Widened(const std::vector<BFloat16>& values) {
  std::vector<double> wide(values.size());
  std::transform(values.begin(), values.end(), wide.begin(),
                 [](BFloat16 value) { return value.ToDouble(); });
  return wide;
}

// One head of one row at `position` over the keys in `slots`, which stand at `positions`.
std::vector<double> Attend(const Shape& shape, std::int64_t head, const double* q,
                           const std::vector<double>& k, const std::vector<double>& v,
                           const std::vector<std::int64_t>& slots,
                           const std::vector<std::int32_t>& positions, const Mask& mask,
                           std::int64_t position) {
  std::vector<double> scores(slots.size(), -INFINITY), out(shape.d);
  const auto at = [&](std::size_t m) {
    return (slots[m] * shape.kv + head / (shape.heads / shape.kv)) * shape.d;
  };
  double maximum = -INFINITY, total = 0;
  for (std::size_t m = 0; m < slots.size(); ++m) {
    if (!mask.Shows(position, positions[m])) continue;
    scores[m] = std::inner_product(q, q + shape.d, &k[at(m)], 0.0) /
                std::sqrt(static_cast<double>(shape.d));
    maximum = std::max(maximum, scores[m]);
  }
  for (std::size_t m = 0; m < slots.size(); ++m) {
    if (scores[m] == -INFINITY) continue;
    const double weight = std::exp(scores[m] - maximum);
    total += weight;
    for (std::int64_t e = 0; e < shape.d; ++e) out[e] += weight * v[at(m) + e];
  }
  for (double& value : out) value /= total;  // a row sees itself
  return out;
}

// The rounding of the result, and 2^-16 of a weight: scores and values are a few units at most.
void ExpectNear(const std::vector<double>& expected, const BFloat16* found, const Mask& mask,
                std::int64_t row, std::int64_t head) {
  for (std::size_t e = 0; e < expected.size(); ++e) {
    ASSERT_NEAR(found[e].ToDouble(), expected[e], std::ldexp(std::abs(expected[e]), -8) + 2e-4)
        << mask << " row " << row << " head " << head << " element " << e;
  }
}

constexpr std::int64_t kTable = 20;
constexpr std::array<std::int64_t, 4> kContexts = {0, 5, 150, 290};
constexpr std::int64_t kBands = kContexts.size(), kPool = kBands * kTable + 2;

// Four bands of different contexts; whatever no band reads is poisoned.
class SlotPositionsTest : public DeviceTest {
 protected:
  void Prepare(const Shape& shape) {
    shape_ = shape;
    q_ = Random("q", kBands * shape.rows * shape.heads * shape.d, 2);
    k_.assign(kPool * 16 * shape.kv * shape.d, BFloat16{0xFFFF});
    v_ = k_;
    const std::vector<BFloat16> k = Random("k", std::ssize(k_), 2),
                                v = Random("v", std::ssize(k_), 2);
    tables_.resize(kBands * kTable);
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      tables_[i] = static_cast<std::uint32_t>(i * 7 % tables_.size());  // every block once
    }
    const std::int64_t width = shape.kv * shape.d;
    for (std::int64_t band = 0; band < kBands; ++band) {
      slots_[band].clear();
      for (std::int64_t m = 0; m < kContexts[band] + shape.rows; ++m) {
        const std::int64_t slot = tables_[band * kTable + m / 16] * std::int64_t{16} + m % 16;
        slots_[band].push_back(slot);
        std::copy_n(k.begin() + slot * width, width, k_.begin() + slot * width);
        std::copy_n(v.begin() + slot * width, width, v_.begin() + slot * width);
      }
    }
    on_q_ = Upload(q_);
    on_k_ = Upload(k_);
    on_v_ = Upload(v_);
    on_tables_ = Upload(tables_);
    out_ = Bytes(q_.size() * sizeof(BFloat16));
    workspace_ = Bytes(Traits::WorkspaceBytes(kBands, shape.rows, shape.heads, shape.kv, shape.d));
  }
  void SetHistory(Gaps gaps, std::int64_t window, std::int64_t words) {
    std::vector<std::uint32_t> records;
    std::vector<std::int32_t> slot_positions(kPool * 16, -1);
    for (std::int64_t band = 0; band < kBands; ++band) {
      const std::int64_t context = kContexts[band];
      positions_[band] = Positions(gaps, context, shape_.rows, window);
      for (std::size_t m = 0; m < positions_[band].size(); ++m) {
        slot_positions[slots_[band][m]] = positions_[band][m];
      }
      records.push_back(static_cast<std::uint32_t>(context + shape_.rows));
      records.push_back(static_cast<std::uint32_t>(context));
      if (words == 3) records.push_back(static_cast<std::uint32_t>(positions_[band][context]));
    }
    words_ = words;
    records_ = Upload(records);
    slot_positions_ = Upload(slot_positions);
  }
  std::vector<BFloat16> Launch(const Mask& mask, const std::int32_t* slot_positions) {
    Set(out_, 0xFF);
    EXPECT_THAT(LaunchPagedAttention({.q = on_q_.As<BFloat16>(),
                                      .k_pool = on_k_.As<BFloat16>(),
                                      .v_pool = on_v_.As<BFloat16>(),
                                      .block_tables = on_tables_.As<std::uint32_t>(),
                                      .arguments = records_.As<std::uint32_t>(),
                                      .slot_positions = slot_positions,
                                      .out = out_.As<BFloat16>(),
                                      .bands = kBands,
                                      .rows = shape_.rows,
                                      .heads = shape_.heads,
                                      .kv = shape_.kv,
                                      .d = shape_.d,
                                      .table = kTable,
                                      .record_words = words_,
                                      .window = mask.window,
                                      .causal = mask.causal,
                                      .workspace = workspace_.address().value,
                                      .workspace_bytes = workspace_.bytes()},
                                     stream()),
                IsOk());
    return Read<BFloat16>(out_);
  }
  std::vector<BFloat16> WithPositions(const Mask& mask) {
    return Launch(mask, slot_positions_.As<std::int32_t>());
  }
  std::vector<BFloat16> Without(const Mask& mask) { return Launch(mask, nullptr); }

  void ExpectRight(const std::vector<BFloat16>& found, const Mask& mask) const {
    const std::vector<double> q = Widened(q_), k = Widened(k_), v = Widened(v_);
    for (std::int64_t band = 0; band < kBands; ++band) {
      for (std::int64_t row = 0; row < shape_.rows; ++row) {
        for (std::int64_t head = 0; head < shape_.heads; ++head) {
          const std::int64_t at = ((band * shape_.rows + row) * shape_.heads + head) * shape_.d;
          SCOPED_TRACE(testing::Message() << "band " << band);
          ExpectNear(Attend(shape_, head, &q[at], k, v, slots_[band], positions_[band], mask,
                            positions_[band][kContexts[band] + row]),
                     &found[at], mask, row, head);
          if (HasFatalFailure()) return;
        }
      }
    }
  }

  Shape shape_;
  std::vector<BFloat16> q_, k_, v_;
  std::vector<std::uint32_t> tables_;
  std::array<std::vector<std::int64_t>, kBands> slots_;      // of the keys
  std::array<std::vector<std::int32_t>, kBands> positions_;  // of the keys
  std::int64_t words_ = 3;
  DeviceBuffer on_q_, on_k_, on_v_, on_tables_, records_, slot_positions_, out_, workspace_;
};

// Two tiles of queries, so that rows begin in the middle of the block too.
constexpr Shape kShape = {.rows = 24, .heads = 6, .kv = 2, .d = 64};

TEST_F(SlotPositionsTest, HistoriesWithGaps) {
  Prepare(kShape);
  for (const Gaps gaps : {Gaps::kScattered, Gaps::kBeforeBlock}) {
    for (const Mask& mask : kMasks) {
      SetHistory(gaps, mask.window, 3);
      const std::vector<BFloat16> found = WithPositions(mask);
      ExpectRight(found, mask);
      if (HasFatalFailure()) return;
      // What a window shows does change with the gaps.
      if (mask.window > 1) {
        EXPECT_NE(Without(mask), found) << mask;
      }
    }
  }
}

TEST_F(SlotPositionsTest, EveryHeadDim) {
  for (const std::int64_t d : {20, 32, 72, 128, 132, 256}) {  // padded, whole, with narrow accesses
    Prepare({.rows = 12, .heads = 4, .kv = 2, .d = d});
    for (const bool causal : {false, true}) {
      const Mask mask = {.window = 24, .causal = causal};
      SetHistory(Gaps::kScattered, mask.window, 3);
      ExpectRight(WithPositions(mask), mask);
      if (HasFatalFailure()) FAIL() << "d " << d;
    }
  }
}

TEST_F(SlotPositionsTest, WithoutAGapTheBitsAreThoseOfLogicalIndices) {
  Prepare(kShape);
  SetHistory(Gaps::kNone, 0, 3);
  for (const Mask& mask : kMasks) EXPECT_EQ(WithPositions(mask), Without(mask)) << mask;
}

TEST_F(SlotPositionsTest, RecordsOfScratchV1) {
  Prepare(kShape);
  for (const Mask& mask : kMasks) {
    SetHistory(Gaps::kNone, 0, 2);
    ExpectRight(Without(mask), mask);
    if (HasFatalFailure()) return;
  }
}

TEST_F(SlotPositionsTest, WithoutAMaskNothingReadsThem) {
  Prepare(kShape);
  SetHistory(Gaps::kScattered, 0, 3);
  // An address that must not be followed.
  EXPECT_EQ(Launch({}, reinterpret_cast<const std::int32_t*>(256)), Without({}));
}

// Spec section 3: rows are context and block, the pool is the row buffer. The size is that of
// the largest published scratch, whose one split walks all tiles.
TEST_F(SlotPositionsTest, ContextAndBlockInOneRowBuffer) {
  constexpr std::int64_t kContext = 4096, kBlock = 16;
  const Shape shape = {.rows = kContext + kBlock, .heads = 32, .kv = 8, .d = 128};
  const std::int64_t width = shape.heads * shape.d, keys = shape.rows * shape.kv * shape.d;
  const std::vector<BFloat16> own = Random("q", kBlock * width, 2), k = Random("k", keys, 2),
                              v = Random("v", keys, 2);
  std::vector<BFloat16> q(shape.rows * width);  // zeros for the context
  std::copy(own.begin(), own.end(), q.begin() + kContext * width);
  std::vector<std::uint32_t> table(shape.rows / 16);
  std::iota(table.begin(), table.end(), 0u);
  std::vector<std::int64_t> slots(shape.rows);
  std::iota(slots.begin(), slots.end(), 0);
  const std::vector<double> wide_q = Widened(own), wide_k = Widened(k), wide_v = Widened(v);
  const DeviceBuffer on_q = Upload(q), on_k = Upload(k), on_v = Upload(v), on_table = Upload(table),
                     out = Bytes(q.size() * sizeof(BFloat16)),
                     workspace = Bytes(
                         Traits::MostWorkspaceBytes(1, shape.rows, shape.heads, shape.kv, shape.d));
  for (const Mask mask : {Mask{0, false}, Mask{0, true}, Mask{700, false}, Mask{700, true}}) {
    const std::vector<std::int32_t> positions =
        Positions(Gaps::kScattered, kContext, kBlock, mask.window);
    const DeviceBuffer on_positions = Upload(positions),
                       record = Upload(std::vector<std::uint32_t>{
                           static_cast<std::uint32_t>(shape.rows), 0,
                           static_cast<std::uint32_t>(positions[kContext] - kContext)});
    Set(out, 0xFF);
    ASSERT_THAT(LaunchPagedAttention({.q = on_q.As<BFloat16>(),
                                      .k_pool = on_k.As<BFloat16>(),
                                      .v_pool = on_v.As<BFloat16>(),
                                      .block_tables = on_table.As<std::uint32_t>(),
                                      .arguments = record.As<std::uint32_t>(),
                                      .slot_positions = on_positions.As<std::int32_t>(),
                                      .out = out.As<BFloat16>(),
                                      .rows = shape.rows,
                                      .heads = shape.heads,
                                      .kv = shape.kv,
                                      .d = shape.d,
                                      .table = std::ssize(table),
                                      .window = mask.window,
                                      .causal = mask.causal,
                                      .workspace = workspace.address().value,
                                      .workspace_bytes = workspace.bytes()},
                                     stream()),
                IsOk());
    const std::vector<BFloat16> found = Read<BFloat16>(out);
    for (std::int64_t row = 0; row < kBlock; ++row) {
      for (std::int64_t head = 0; head < shape.heads; head += 5) {  // all KV heads but one
        const std::int64_t at = row * width + head * shape.d;
        ExpectNear(Attend(shape, head, &wide_q[at], wide_k, wide_v, slots, positions, mask,
                          positions[kContext + row]),
                   &found[kContext * width + at], mask, row, head);
        if (HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace draftmark::kernels
