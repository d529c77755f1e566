// What lies beside memory that somebody may write to, so that a write there is seen.
//
//   FillGuard(band, /*first=*/0);
//   ... whatever is judged runs ...
//   if (const auto at = FirstBrokenGuard(band, 0)) ...   // bytes from the band's begin
//
// A pattern by position, since kernels do write constants: -1 for a slot of a padded row, or what they
// filled their own memory with. Of two neighbouring bytes at least one is seen whatever is written
// over both, unless it is the pattern itself; a single 0xFF at an odd position is not. Every two bytes
// are NaN as BF16 and FP16, every four as FP32 and every eight as FP64, and no such integer is an
// index of anything: what reads there shows it as well.
//
// `first` is the position of the band's first byte, counted from where elements are aligned. Pure
// functions, thread-safe.
#ifndef DRAFTMARK_SRC_BASE_GUARD_PATTERN_H_
#define DRAFTMARK_SRC_BASE_GUARD_PATTERN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace draftmark {

constexpr std::byte GuardByte(std::uint64_t position) {
  // Thirteen values, a prime: no structure of a kernel has this period. None of them is 0xFF, and with
  // 0xFF above each of them the exponents of all formats are full.
  constexpr std::uint64_t kValues = 13;
  const std::uint64_t low = 0xF1 + position / 2 % kValues;
  return static_cast<std::byte>(position % 2 == 1 ? 0xFF : low);
}

inline void FillGuard(std::span<std::byte> band, std::uint64_t first) {
  for (std::size_t i = 0; i < band.size(); ++i) band[i] = GuardByte(first + i);
}

inline std::optional<std::uint64_t> FirstBrokenGuard(std::span<const std::byte> band,
                                                     std::uint64_t first) {
  for (std::size_t i = 0; i < band.size(); ++i) {
    if (band[i] != GuardByte(first + i)) return i;
  }
  return std::nullopt;
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_GUARD_PATTERN_H_
