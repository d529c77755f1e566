// Weights and inputs that are made from a seed, so that a case needs no file for them.
//
// A case folder whose config.json has the key "generator" holds neither model.safetensors nor
// inputs:
//
//   "generator": {"name": "draftmark", "version": 1, "seed": 7, "sinks": false,
//                 "mask_embedding": false, "tap_scale": 2}
//
// `tap_scale` (2 where absent) is how far taps reach from 0: outlier channels of real targets reach
// some ten thousand.
//
// Data are counter-based (src/base/counter_hash.h): an element of a tensor depends on the case's
// seed, the tensor's name and its index only. Names and shapes of weights are those of public
// checkpoints (spec/drafter.md section 1.1). Pure functions, thread-safe.
#ifndef DRAFTMARK_SRC_CASES_GENERATED_DATA_H_
#define DRAFTMARK_SRC_CASES_GENERATED_DATA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/json.h"
#include "src/base/status.h"
#include "src/config/drafter_config.h"
#include "src/tensor/bfloat16.h"
#include "src/tensor/safetensors.h"

namespace draftmark {

// Part of the golden format: to be raised whenever the same seed gives other data.
inline constexpr std::uint64_t kGeneratorVersion = 1;

struct DataGenerator {
  std::uint64_t seed = 0;
  bool sinks = false;  // optional tensors that no config key announces
  bool mask_embedding = false;
  double tap_scale = 2;
};

// Absent if the config has no such key; INVALID_ARGUMENT for another name or version.
StatusOr<std::optional<DataGenerator>> ReadGenerator(const JsonObject& root);
OrderedJson GeneratorToJson(const DataGenerator& generator);

struct GeneratedTensor {
  std::string name;
  Shape shape;
  double offset = 0;  // values lie in [offset - scale, offset + scale)
  double scale = 0;
};
// Every tensor of such a checkpoint, the target's embedding and LM head included.
std::vector<GeneratedTensor> GeneratedTensors(const DrafterConfig& config,
                                              const DataGenerator& generator);

// More elements than this are refused: a config may ask for anything (8 GiB of BF16, held twice
// while a checkpoint is put together). Of all weights together, and of all taps of a case together.
inline constexpr std::uint64_t kMostGeneratedElements = std::uint64_t{1} << 32;
// RESOURCE_EXHAUSTED, with the tensor's name, if the weights have more; nothing is allocated for them.
Status CheckGeneratedWeights(const DrafterConfig& config, const DataGenerator& generator);

// What a tensor's values are drawn from (src/base/counter_hash.h): value i is
// offset + scale * (2 * UniformAt(seed, i) - 1), rounded once.
std::uint64_t SeedOfTensor(const DataGenerator& generator, const std::string& name);

// `tensor`'s values in order, BF16. The name only seeds. RESOURCE_EXHAUSTED for too many elements.
StatusOr<std::vector<BFloat16>> GenerateValues(const DataGenerator& generator,
                                               const GeneratedTensor& tensor);

// The whole checkpoint in memory; `path` is its name in messages. RESOURCE_EXHAUSTED if it has too
// many elements.
StatusOr<Checkpoint> GenerateCheckpoint(const DrafterConfig& config, const DataGenerator& generator,
                                        const std::string& path);

// Taps [rows, L_t * h_t] of the new context rows of one step.
StatusOr<std::vector<BFloat16>> GenerateTaps(const DrafterConfig& config,
                                             const DataGenerator& generator, std::size_t step,
                                             std::uint64_t rows);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CASES_GENERATED_DATA_H_
