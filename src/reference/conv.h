// Grouped dynamic causal convolution of DFlash2: spec/drafter.md section 7.1.
#ifndef DRAFTMARK_SRC_REFERENCE_CONV_H_
#define DRAFTMARK_SRC_REFERENCE_CONV_H_

#include <algorithm>
#include <cstddef>
#include <span>

#include "src/faults/fault.h"
#include "src/reference/numeric.h"
#include "src/weights/weights.h"

namespace draftmark::reference {

// Which half of the coefficients: kPrepare feeds the sublayer, kFinish is applied to its output.
enum class ConvSide : std::size_t { kPrepare = 0, kFinish = 1 };

// out[t] = Store(sum over taps o, t - o >= 0, of (base[side, o, c] + dynamic[t, side, o, c / G]) *
// in[t - o]).
//
// in, out: [rows, h], not aliased; dynamic: [rows, 2 * taps * groups], laid out [side][tap][group];
// base: [2 * taps, h]. `t` counts inside the band: every `band_rows` rows start anew, and taps
// before row 0 read zero.
template <typename N>
void ApplyConv(std::span<const typename N::Storage> in,
               std::span<const typename N::Storage> dynamic, const Bf16Matrix& base, ConvSide side,
               std::size_t taps, std::size_t group_size, std::size_t band_rows,
               std::span<typename N::Storage> out) {
  const std::size_t h = base.cols();
  const std::size_t groups = h / group_size;
  const std::size_t rows = in.size() / h;
  std::size_t first_tap = static_cast<std::size_t>(side) * taps;
  if (DM_FAULT(kConvSidesSwapped)) first_tap = taps - first_tap;
  for (std::size_t row = 0; row < rows; ++row) {
    std::size_t reach = std::min(taps, row % band_rows + 1);
    if (DM_FAULT(kConvCrossesBands)) reach = std::min(taps, row + 1);
    if (DM_FAULT(kConvNotReset)) reach = std::min(taps, band_rows);
    for (std::size_t c = 0; c < h; ++c) {
      double sum = 0;
      for (std::size_t o = 0; o < reach; ++o) {
        std::size_t source = row - o;
        // Not reset: what was there from the band's last row.
        if (DM_FAULT(kConvNotReset) && row % band_rows < o) source += band_rows;
        const std::size_t owner = DM_FAULT(kConvWrongRow) ? row - o : row;  // row - o is read
        const std::size_t at = (owner * 2 * taps + first_tap + o) * groups + c / group_size;
        const double coefficient = base.row(first_tap + o)[c].ToDouble() + N::Load(dynamic[at]);
        sum += coefficient * N::Load(in[source * h + c]);
      }
      out[row * h + c] = N::Store(sum);
    }
  }
}

}  // namespace draftmark::reference

#endif  // DRAFTMARK_SRC_REFERENCE_CONV_H_
