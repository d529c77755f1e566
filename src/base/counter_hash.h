// Counter-based pseudo-random numbers: a value depends on its seed and index only, so that any
// element of a test tensor can be made again alone, in any order, on any machine.
//
//   UniformAt(SeedOf("op/rms_norm/rows=1,h=8/bf16/x"), 5)   // element 5 of that tensor, in [0, 1)
//
// Pure functions, thread-safe. They are part of the golden format: changing one changes every
// golden file (generator version in golden/manifest.json).
#ifndef DRAFTMARK_SRC_BASE_COUNTER_HASH_H_
#define DRAFTMARK_SRC_BASE_COUNTER_HASH_H_

#include <cstdint>
#include <string_view>

namespace draftmark {

// SplitMix64's finaliser: every bit of the counter reaches every bit of the result.
constexpr std::uint64_t Mix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

constexpr std::uint64_t BitsAt(std::uint64_t seed, std::uint64_t index) {
  return Mix64(Mix64(seed) ^ index);
}

// In [0, 1), a multiple of 2^-53.
constexpr double UniformAt(std::uint64_t seed, std::uint64_t index) {
  return static_cast<double>(BitsAt(seed, index) >> 11) * 0x1p-53;
}

// The seed that a name stands for (FNV-1a, mixed).
constexpr std::uint64_t SeedOf(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  return Mix64(hash);
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_COUNTER_HASH_H_
