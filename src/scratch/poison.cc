#include "src/scratch/poison.h"

#include <algorithm>

#include "src/base/counter_hash.h"

namespace draftmark {

void FillPoison(std::span<std::byte> bytes, Poison poison, std::uint64_t seed,
                std::uint64_t first) {
  switch (poison) {
    case Poison::kNone:
      return;
    case Poison::kZeros:
      std::fill(bytes.begin(), bytes.end(), std::byte{0x00});
      return;
    case Poison::kOnes:
      std::fill(bytes.begin(), bytes.end(), std::byte{0xFF});
      return;
    case Poison::kRandom: {
      // One hash for eight bytes: pools of gigabytes are filled, too.
      std::uint64_t bits = 0;
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        const std::uint64_t index = first + i;
        if (i == 0 || index % 8 == 0) bits = BitsAt(seed, index / 8);
        bytes[i] = static_cast<std::byte>(bits >> (index % 8 * 8));
      }
      return;
    }
  }
}

}  // namespace draftmark
