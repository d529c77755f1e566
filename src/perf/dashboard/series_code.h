// A series in a few bytes a night, for the page's script (page/series.js reads it).
//
//   const SeriesCode code = EncodeSeries(values);   // one entry a run; absent: no value that night
//   code.scale * integer                            // is the value, to 1 part in 100,000
//
// Values are multiples of `scale`, a power of ten chosen so that the smallest value keeps six
// digits. Each is a base-128 number (least significant group first, the high bit says that another
// byte follows): 0 for no value, else 1 + the zigzag code of the difference from the value before
// it (from 0 for the first). The bytes are in base64. 0.5 % of noise takes 2 bytes, 3 characters.
// Pure, thread-safe.
#ifndef DRAFTMARK_SRC_PERF_DASHBOARD_SERIES_CODE_H_
#define DRAFTMARK_SRC_PERF_DASHBOARD_SERIES_CODE_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace draftmark {

struct SeriesCode {
  int exponent = 0;  // scale = 10^exponent
  std::string base64 = {};
};

// Values above 0 and finite, within a factor of 1e9 of each other; others are left out, as if there
// had been no value that night.
SeriesCode EncodeSeries(std::span<const std::optional<double>> values);

// The values again, rounded. DATA_LOSS if `code` is none of EncodeSeries.
StatusOr<std::vector<std::optional<double>>> DecodeSeries(const SeriesCode& code);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_DASHBOARD_SERIES_CODE_H_
