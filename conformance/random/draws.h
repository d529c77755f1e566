// Numbers drawn one after the other, the same for the same seed.
//
//   Draws draws(SeedOf("fuzz/7"));
//   const std::uint64_t rows = draws.Pick<std::uint64_t>({1, 15, 16, 17});
//
// Not thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_RANDOM_DRAWS_H_
#define DRAFTMARK_CONFORMANCE_RANDOM_DRAWS_H_

#include <cstdint>
#include <vector>

#include "src/base/counter_hash.h"

namespace draftmark {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t Bits() { return BitsAt(seed_, drawn_++); }
  std::uint64_t Below(std::uint64_t limit) { return Bits() % limit; }  // limit above 0
  bool OneIn(std::uint64_t n) { return Below(n) == 0; }
  template <typename T>
  T Pick(const std::vector<T>& from) {  // which is not empty
    return from[Below(from.size())];
  }

 private:
  const std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
};

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_RANDOM_DRAWS_H_
