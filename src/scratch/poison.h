// Poison: what memory is filled with, so that a test sees who reads what nobody wrote: results must
// not depend on prior contents (spec/dflash_scratch.md section 5). Pure, thread-safe.
#ifndef DRAFTMARK_SRC_SCRATCH_POISON_H_
#define DRAFTMARK_SRC_SCRATCH_POISON_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace draftmark {

enum class Poison {
  kNone,    // whatever is there already
  kZeros,   // 0x00
  kOnes,    // 0xFF: NaN in every floating format, -1 in every signed integer
  kRandom,  // byte i is a hash of seed and i
};

// `bytes` are those from index `first` on, so that a large buffer can be filled in pieces. The seed
// is for kRandom only.
void FillPoison(std::span<std::byte> bytes, Poison poison, std::uint64_t seed,
                std::uint64_t first = 0);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_POISON_H_
