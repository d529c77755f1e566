// In which order the benchmarks of a run go: shuffled, so that what comes first (a cold GPU) or
// next to what is another case each time; seeded, so that a run can be repeated in its order.
//
//   for (const std::size_t at : ShuffledOrder(cases.size(), seed)) Register(cases[at]);
//
// Pure, and the same on every machine.
#ifndef DRAFTMARK_SRC_PERF_RUN_ORDER_H_
#define DRAFTMARK_SRC_PERF_RUN_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "src/base/counter_hash.h"

namespace draftmark {

// 0 to count - 1, each once (Fisher and Yates; the remainder's bias is below count / 2^64).
inline std::vector<std::size_t> ShuffledOrder(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t left = count; left > 1; --left) {
    std::swap(order[left - 1], order[BitsAt(seed, left) % left]);
  }
  return order;
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_RUN_ORDER_H_
