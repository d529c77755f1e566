// AttentionPathsTest: the base class of tests that hold a path of attention against the kernels of every
// GPU, which are tested against float64: shapes, lengths around cache blocks and tiles, masks, gaps. A path
// is what Launch does.
#ifndef DRAFTMARK_KERNELS_PAGED_ATTENTION_ATTENTION_PATHS_TEST_H_
#define DRAFTMARK_KERNELS_PAGED_ATTENTION_ATTENTION_PATHS_TEST_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <vector>

#include "kernels/paged_attention/paged_attention.h"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "kernels/testing/device_test.h"
#include "src/base/status_matchers.h"
#include "src/cuda/device_buffer.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::kernels {

struct AttentionShape {
  std::int64_t rows = 0, heads = 0, kv = 0, d = 0;
  bool sinks = false;
};
inline std::ostream& operator<<(std::ostream& os, const AttentionShape& shape) {
  return os << "rows " << shape.rows << " heads " << shape.heads << " kv " << shape.kv << " d "
            << shape.d << (shape.sinks ? " sinks" : "");
}

struct AttentionMask {
  std::int64_t window = 0;
  bool causal = false;
  bool gaps = false;
};
inline std::ostream& operator<<(std::ostream& os, const AttentionMask& mask) {
  return os << (mask.causal ? "causal" : "two-sided") << " window " << mask.window
            << (mask.gaps ? " with gaps" : "");
}

inline constexpr AttentionMask kAttentionMasks[] = {
    {0, false, false}, {0, true, false},  {24, false, false}, {24, true, false},
    {700, true, true}, {40, false, true}, {0, true, true}};

// Bands with so many keys, the last of which are the rows' own; whatever no band reads is poisoned, and
// tables end in ids that are none.
class AttentionPathsTest : public DeviceTest {
 protected:
  void Prepare(const AttentionShape& shape, const std::vector<std::int64_t>& lengths) {
    shape_ = shape;
    bands_ = std::ssize(lengths);
    table_ = (*std::max_element(lengths.begin(), lengths.end()) + 15) / 16 + 2;
    const std::int64_t blocks = bands_ * table_, width = shape.kv * shape.d;
    std::vector<std::uint32_t> tables(blocks, 0xFFFFFFFFu), records;
    std::vector<BFloat16> k(blocks * 16 * width, BFloat16{0xFFFF}), v = k;
    const std::vector<BFloat16> good_k = Random("k", std::ssize(k), 2),
                                good_v = Random("v", std::ssize(k), 2);
    std::vector<std::int32_t> positions(blocks * 16, -1);
    for (std::int64_t band = 0; band < bands_; ++band) {
      const std::int64_t keys = lengths[band],
                         context = std::max<std::int64_t>(keys - shape.rows, 0);
      std::int32_t first_own = 0, next = 700;
      for (std::int64_t m = 0; m < keys; ++m) {
        const std::int64_t entry = band * table_ + m / 16;
        // Every block once, in disorder
        tables[entry] = static_cast<std::uint32_t>(blocks - 1 - entry);
        const std::int64_t slot = tables[entry] * std::int64_t{16} + m % 16;
        std::copy_n(good_k.begin() + slot * width, width, k.begin() + slot * width);
        std::copy_n(good_v.begin() + slot * width, width, v.begin() + slot * width);
        if (m <= context && m % 5 == 0) next += static_cast<std::int32_t>(m % 7);
        if (m == context) first_own = next;
        positions[slot] = next++;
      }
      records.insert(records.end(),
                     {static_cast<std::uint32_t>(keys), static_cast<std::uint32_t>(context),
                      static_cast<std::uint32_t>(first_own)});
    }
    k_ = Upload(k);
    v_ = Upload(v);
    tables_ = Upload(tables);
    records_ = Upload(records);
    positions_ = Upload(positions);
    sinks_ = Upload(Random("sinks", shape.heads, 3));
    q_ = Upload(Random("q", bands_ * OfBand(), 2));
    out_ = Bytes(bands_ * OfBand() * sizeof(BFloat16));
    workspace_ = Bytes(
        PagedAttentionTraits::WorkspaceBytes(bands_, shape.rows, shape.heads, shape.kv, shape.d));
  }
  std::int64_t OfBand() const { return shape_.rows * shape_.heads * shape_.d; }

  PagedAttentionArgs Args(const AttentionMask& mask) const {
    return {.q = q_.As<BFloat16>(),
            .k_pool = k_.As<BFloat16>(),
            .v_pool = v_.As<BFloat16>(),
            .block_tables = tables_.As<std::uint32_t>(),
            .arguments = records_.As<std::uint32_t>(),
            .slot_positions = mask.gaps ? positions_.As<std::int32_t>() : nullptr,
            .sinks = shape_.sinks ? sinks_.As<BFloat16>() : nullptr,
            .out = out_.As<BFloat16>(),
            .bands = bands_,
            .rows = shape_.rows,
            .heads = shape_.heads,
            .kv = shape_.kv,
            .d = shape_.d,
            .table = table_,
            .window = mask.window,
            .causal = mask.causal,
            .workspace = workspace_.address().value,
            .workspace_bytes = workspace_.bytes()};
  }
  // The path under test.
  virtual Status Launch(const PagedAttentionArgs& args) = 0;

  std::vector<BFloat16> Run(const PagedAttentionArgs& args) {
    Set(out_, 0xFF);
    Set(workspace_, 0xFF);
    EXPECT_THAT(args.generic ? LaunchPagedAttention(args, stream()) : Launch(args), IsOk());
    return Read<BFloat16>(out_);
  }
  // A rounding of the result may fall to either side; and 2^-16 of a weight.
  void ExpectSame(const AttentionMask& mask) {
    PagedAttentionArgs args = Args(mask);
    const std::vector<BFloat16> found = Run(args);
    args.generic = true;
    const std::vector<BFloat16> expected = Run(args);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double value = expected[i].ToDouble();
      ASSERT_NEAR(found[i].ToDouble(), value, std::ldexp(std::abs(value), -7) + 2e-4)
          << shape_ << " " << mask << " element " << i % shape_.d << " head "
          << i / shape_.d % shape_.heads << " row " << i / shape_.d / shape_.heads % shape_.rows
          << " band " << static_cast<std::int64_t>(i) / OfBand();
    }
  }

  // A band has the same bits alone and among others, and in every run.
  void ExpectSameBitsAlone(const AttentionMask& mask) {
    const std::vector<BFloat16> together = Run(Args(mask));
    EXPECT_EQ(Run(Args(mask)), together) << shape_ << " " << mask;
    for (std::int64_t band = 0; band < bands_; ++band) {
      PagedAttentionArgs alone = Args(mask);
      alone.bands = 1;
      alone.q += band * OfBand();
      alone.block_tables += band * table_;
      alone.arguments += band * 3;
      const std::vector<BFloat16> one = Run(alone);
      EXPECT_TRUE(
          std::equal(one.begin(), one.begin() + OfBand(), together.begin() + band * OfBand()))
          << shape_ << " " << mask << " band " << band;
    }
  }

  // The same of the last band in front, where all others have moved up by one.
  void ExpectSameBitsInOtherPlaces(const AttentionMask& mask) {
    const std::vector<BFloat16> before = Run(Args(mask));
    EXPECT_EQ(Run(Args(mask)), before) << shape_ << " " << mask;
    const auto rotated = [this](auto values) {
      std::rotate(values.begin(), values.end() - std::ssize(values) / bands_, values.end());
      return values;
    };
    q_ = Upload(rotated(Read<BFloat16>(q_)));
    tables_ = Upload(rotated(Read<std::uint32_t>(tables_)));
    records_ = Upload(rotated(Read<std::uint32_t>(records_)));
    EXPECT_EQ(Run(Args(mask)), rotated(before)) << shape_ << " " << mask;
  }

  // 1, 2, 4, 5, 7 and 9 heads of a KV head; up to three tiles of queries; one band to seven.
  void ExpectSameForShapes() {
    for (const AttentionShape& shape : {AttentionShape{1, 1, 1, 64},
                                        {1, 8, 8, 128, true},
                                        {2, 4, 2, 128},
                                        {5, 6, 3, 128, true},
                                        {7, 10, 2, 64},
                                        {9, 5, 5, 64, true},
                                        {8, 32, 8, 128},
                                        {13, 20, 4, 128, true},
                                        {16, 14, 2, 64},
                                        {16, 72, 8, 128},
                                        {32, 8, 2, 128},
                                        {32, 32, 8, 64, true}}) {
      for (const auto& lengths : std::vector<std::vector<std::int64_t>>{
               {77, 2064, 3}, {2064}, {1, 2, 3, 4, 300, 17, 64}}) {
        Prepare(shape, lengths);
        for (const AttentionMask& mask : kAttentionMasks) {
          ExpectSame(mask);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  template <typename Expect>
  void ForNineBands(const Expect& expect) {
    for (const AttentionShape& shape : {AttentionShape{16, 32, 8, 128}, {32, 32, 8, 64}}) {
      for (const AttentionMask& mask : {AttentionMask{}, {64, true, true}}) {
        Prepare(shape, {300, 2064, 1, 700, 16, 2500, 80, 1300, 33});
        expect(mask);
      }
    }
  }

  AttentionShape shape_;
  std::int64_t bands_ = 0;
  std::int64_t table_ = 0;
  DeviceBuffer q_, k_, v_, tables_, records_, positions_, sinks_, out_, workspace_;
};

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_PAGED_ATTENTION_ATTENTION_PATHS_TEST_H_
