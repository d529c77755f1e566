// The steps that context and block path have in common, as launches on a session's parts.
// Each enqueues on the session's stream, neither allocates nor waits, and returns the launcher's
// error.
#ifndef DRAFTMARK_KERNELS_DRAFT_LAYER_LAUNCHES_H_
#define DRAFTMARK_KERNELS_DRAFT_LAYER_LAUNCHES_H_

#include <cstdint>

#include "kernels/draft/draft_parts.h"
#include "kernels/linear/linear.h"
#include "src/base/status.h"

namespace draftmark::kernels {

struct LinearStep {
  const BFloat16* x = nullptr;  // [rows, k]
  DeviceMatrix weight = nullptr;
  DeviceMatrix bias = nullptr;
  BFloat16* y = nullptr;       // [rows, n]
  std::uint64_t y_stride = 0;  // elements from row to row of y; 0: n
  std::uint64_t rows = 0;
  std::uint64_t n = 0;
  std::uint64_t k = 0;
  double multiplier = 1;
  double softcap = 0;
};
Status Linear(const DraftParts& parts, const LinearStep& step);
// And of the same input with several matrices, in one launch where that can be.
Status Linears(const DraftParts& parts, const LinearStep& first, const LinearSteps& steps);
// With a second matrix: on the fast path in one launch, where that can be.
Status LinearPair(const DraftParts& parts, const LinearStep& step, DeviceMatrix second_weight,
                  DeviceMatrix second_bias, BFloat16* second_y);

// Whole rows of width h.
Status Norm(const DraftParts& parts, const BFloat16* x, DeviceMatrix weight, std::uint64_t rows,
            BFloat16* y);
// The same of the stream, to which `delta` is added in front; null: nothing is.
Status AddAndNorm(const DraftParts& parts, BFloat16* stream, const BFloat16* delta,
                  DeviceMatrix weight, std::uint64_t rows, BFloat16* y);
// Each of the row's heads, in place.
Status NormHeads(const DraftParts& parts, BFloat16* x, DeviceMatrix weight, std::uint64_t rows,
                 std::uint64_t heads);
Status Rotate(const DraftParts& parts, BFloat16* x, const std::int32_t* positions,
              std::uint64_t rows, std::uint64_t heads);

// Writes rows of K and V to the slots in slot_mapping_dev; V rows lie v_stride elements apart. With
// the first layer the rows' positions go beside their slots, if masks need them.
struct CacheStep {
  const BFloat16* k = nullptr;
  const BFloat16* v = nullptr;
  std::uint64_t v_stride = 0;
  const std::int32_t* positions = nullptr;
  std::uint64_t rows = 0;
};
Status WriteCache(const DraftParts& parts, std::uint64_t layer, const CacheStep& step);

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_LAYER_LAUNCHES_H_
