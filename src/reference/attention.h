// Attention of the block rows of one band, over paged or contiguous keys: spec/drafter.md
// section 4.4.
#ifndef DRAFTMARK_SRC_REFERENCE_ATTENTION_H_
#define DRAFTMARK_SRC_REFERENCE_ATTENTION_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "src/faults/fault.h"
#include "src/reference/linear.h"
#include "src/reference/numeric.h"
#include "src/reference/paged_cache.h"

namespace draftmark::reference {

// Which keys a row may see. Positions are RoPE positions, never slot indices: the two part when the
// window slides.
struct Visibility {
  bool causal = false;
  bool sliding = false;
  std::int64_t window = 0;  // sliding only

  bool Sees(std::int64_t row_position, std::int64_t key_position) const {
    const std::int64_t distance = row_position - key_position;
    if (causal && distance < 0) return false;
    if (DM_FAULT(kWindowOffByOne) && std::abs(distance) == window) return true;
    if (DM_FAULT(kWindowOneSided) && sliding && distance < 0) return false;
    return !sliding || DM_FAULT(kWindowIgnored) || std::abs(distance) < window;
  }
};

struct AttentionShape {
  std::size_t heads = 0;
  std::size_t kv_heads = 0;
  std::size_t head_dim = 0;
  // One logit per query head that joins the denominator only, or none.
  std::span<const BFloat16> sinks = {};
};

// Of a mutant: where a causal kernel may stop, with query tiles of 32 rows.
inline std::size_t EndOfQueryTile(std::size_t first_own_key, std::size_t row) {
  return first_own_key + (row / 32 + 1) * 32;
}

// q, out: [row_positions.size(), heads * head_dim]. Key m (0 <= m < key_positions.size()) has the
// rows `key_of(m)` and `value_of(m)`, spans of kv_heads * head_dim stored values: from the paged
// cache or from row buffers. Scores, softmax (maximum subtracted) and the weighted sum stay in
// float64; one Store per output. A row that sees nothing gives 0, one that sees a NaN gives NaN.
template <typename N, typename KeyOf, typename ValueOf>
void Attend(std::span<const typename N::Storage> q, const AttentionShape& shape,
            const KeyOf& key_of, const ValueOf& value_of,
            std::span<const std::int64_t> row_positions,
            std::span<const std::int64_t> key_positions, const Visibility& visibility,
            std::span<typename N::Storage> out) {
  const std::size_t d = shape.head_dim;
  const std::size_t group = shape.heads / shape.kv_heads;  // need not be a power of two
  const std::size_t keys = key_positions.size();
  double scale = 1.0 / std::sqrt(static_cast<double>(d));
  if (DM_FAULT(kHeadDimConstant)) scale = 1.0 / std::sqrt(128.0);
  if (DM_FAULT(kWrongScale)) scale = 1.0 / static_cast<double>(d);
  std::vector<double> key(keys * d), value(keys * d), query(d), weight(keys), sum(d);
  std::vector<double> tile_maximum(DM_FAULT(kPaddedRowsPropagate) ? shape.heads : 0);
  for (std::size_t kv_head = 0; kv_head < shape.kv_heads; ++kv_head) {
    for (std::size_t m = 0; m < keys; ++m) {
      for (std::size_t e = 0; e < d; ++e) {
        key[m * d + e] = N::Load(key_of(m)[kv_head * d + e]);
        value[m * d + e] = N::Load(value_of(m)[kv_head * d + e]);
      }
    }
    for (std::size_t row = 0; row < row_positions.size(); ++row) {
      for (std::size_t i = 0; i < group; ++i) {
        const std::size_t head =
            DM_FAULT(kGqaModulo) ? i * shape.kv_heads + kv_head : kv_head * group + i;
        const std::size_t at = (row * shape.heads + head) * d;
        for (std::size_t e = 0; e < d; ++e) query[e] = N::Load(q[at + e]);
        double maximum = -INFINITY;
        for (std::size_t m = 0; m < keys; ++m) {
          const bool seen = visibility.Sees(row_positions[row], key_positions[m]) &&
                            !(DM_FAULT(kKeyLoopBoundedByTile) &&
                              m >= EndOfQueryTile(keys - row_positions.size(), row));
          weight[m] = seen ? Dot(query.data(), &key[m * d], d) * scale : -INFINITY;
          maximum = std::max(maximum, weight[m]);
        }
        if (DM_FAULT(kPaddedRowsPropagate)) {
          // One maximum for a tile of 16 rows, which a NaN of any of its rows does not leave.
          if (row % 16 != 0 && !(tile_maximum[head] < maximum)) maximum = tile_maximum[head];
          tile_maximum[head] = maximum;
        }
        double total = 0;
        if (!shape.sinks.empty()) {
          const double sink = shape.sinks[head].ToDouble();
          maximum = std::max(maximum, sink);
          total = std::exp(sink - maximum);
        }
        std::fill(sum.begin(), sum.end(), 0.0);
        for (std::size_t m = 0; m < keys; ++m) {
          if (weight[m] == -INFINITY) continue;
          const double p = std::exp(weight[m] - maximum);
          total += p;
          for (std::size_t e = 0; e < d; ++e) sum[e] += p * value[m * d + e];
        }
        for (std::size_t e = 0; e < d; ++e)
          out[at + e] = N::Store(total == 0 ? 0.0 : sum[e] / total);
      }
    }
  }
}

// Keys and values of layer `layer` from the paged cache, by logical index.
template <typename N>
void PagedAttention(std::span<const typename N::Storage> q, const AttentionShape& shape,
                    const PagedCache<typename N::Storage>& cache, std::uint64_t layer,
                    std::span<const std::uint32_t> block_table,
                    std::span<const std::int64_t> row_positions,
                    std::span<const std::int64_t> key_positions, const Visibility& visibility,
                    std::span<typename N::Storage> out) {
  Attend<N>(
      q, shape, [&](std::size_t m) { return cache.Key(layer, SlotOf(block_table, m)); },
      [&](std::size_t m) { return cache.Value(layer, SlotOf(block_table, m)); }, row_positions,
      key_positions, visibility, out);
}

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_ATTENTION_H_
