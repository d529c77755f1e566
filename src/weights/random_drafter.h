// Test data: small drafters with random weights, made in memory. Counter-based: a value depends on
// its seed and index only.
#ifndef DRAFTMARK_SRC_WEIGHTS_RANDOM_DRAFTER_H_
#define DRAFTMARK_SRC_WEIGHTS_RANDOM_DRAFTER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "src/config/drafter_config.h"
#include "src/weights/weights.h"

namespace draftmark {

// About uniform in [-scale, scale), rounded to BF16.
std::vector<BFloat16> RandomBf16(std::uint64_t seed, std::size_t count, double scale);

// h 48, 6 query and 2 KV heads of width 16 (ratio 3), I 80, V 101, 2 layers (sliding 9, full), 3
// taps of width 48.
DrafterConfig SmallDrafterConfig();

// With every head that the config announces. Attention sinks and a mask embedding, which no config
// announces, are absent.
std::shared_ptr<const DrafterWeights> RandomWeights(const DrafterConfig& config,
                                                    std::uint64_t seed);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_WEIGHTS_RANDOM_DRAFTER_H_
