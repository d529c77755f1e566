// Weights that are generated on the device against those that the host generates: the same bits.
#include "kernels/draft/generate_values.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/draft/testing/draft_test.h"
#include "kernels/draft/weight_names.h"
#include "src/cuda/device_buffer.h"
#include "src/weights/weights.h"

namespace draftmark::kernels {
namespace {

class GenerateTest : public DraftTest {
 protected:
  std::vector<BFloat16> Download(const BFloat16* device, std::uint64_t count) {
    std::vector<BFloat16> values(count);
    void* const source = const_cast<BFloat16*>(device);
    EXPECT_THAT(CopyToHost(std::as_writable_bytes(std::span(values)), {source}, stream()), IsOk());
    EXPECT_EQ(cudaStreamSynchronize(stream()), cudaSuccess);
    return values;
  }

  // Compares all tensors; returns the number of their elements.
  std::uint64_t CompareAll(const DrafterConfig& config, const DataGenerator& generator) {
    const auto generated = DraftWeights::Generate(config, generator, allocator(), stream());
    EXPECT_THAT(generated, IsOk());
    StatusOr<Checkpoint> checkpoint = GenerateCheckpoint(config, generator, "generated");
    EXPECT_THAT(checkpoint, IsOk());
    const auto host = LoadDrafterWeights(
        config, std::make_shared<const Checkpoint>(std::move(checkpoint).value()));
    EXPECT_THAT(host, IsOk());
    const auto uploaded = DraftWeights::Upload(config, *host, allocator(), stream());
    EXPECT_THAT(uploaded, IsOk());
    EXPECT_EQ((*generated)->bytes(), (*uploaded)->bytes());
    // Shapes come from the host's weights, addresses from both of the device's.
    std::map<std::string, std::uint64_t> elements;
    ForEachWeight(*host, [&](const std::string& name, const Bf16Matrix& matrix) {
      elements[name] = matrix.values().size();
    });
    std::map<std::string, const BFloat16*> from_upload;
    ForEachWeight((*uploaded)->get(), [&](const std::string& name, const DeviceMatrix& matrix) {
      from_upload[name] = matrix;
    });
    std::uint64_t compared = 0;
    ForEachWeight((*generated)->get(), [&](const std::string& name, const DeviceMatrix& matrix) {
      EXPECT_EQ(matrix == nullptr, elements.at(name) == 0) << name;
      EXPECT_EQ(from_upload.at(name) == nullptr, elements.at(name) == 0) << name;
      if (matrix == nullptr || elements.at(name) == 0) return;
      EXPECT_TRUE(Download(matrix, elements.at(name)) ==
                  Download(from_upload.at(name), elements.at(name)))
          << name;
      compared += elements.at(name);
    });
    EXPECT_EQ(2 * compared, (*generated)->bytes());
    return compared;
  }

  // Elements that differ from the host's, of values in [offset - scale, offset + scale).
  std::uint64_t Differing(const std::string& name, double offset, double scale,
                          std::uint64_t count) {
    const DataGenerator generator{.seed = 3};
    const std::vector<BFloat16> expected =
        GenerateValues(generator, {name, {count}, offset, scale}).value();
    const DeviceBuffer device =
        DeviceBuffer::Create(allocator(), {.bytes = count * sizeof(BFloat16), .tag = "values"})
            .value();
    EXPECT_THAT(LaunchGenerateValues({.seed = SeedOfTensor(generator, name),
                                      .offset = offset,
                                      .scale = scale,
                                      .out = device.As<BFloat16>(),
                                      .count = static_cast<std::int64_t>(count)},
                                     stream()),
                IsOk());
    const std::vector<BFloat16> got = Download(device.As<BFloat16>(), count);
    std::uint64_t differing = 0;
    for (std::uint64_t i = 0; i < count; ++i) differing += got[i] == expected[i] ? 0 : 1;
    return differing;
  }
};

TEST_F(GenerateTest, AllTensorsOfEveryKind) {
  for (const DraftVariant& variant : DraftVariants()) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(variant.name);
      const bool extras = seed != 2;
      EXPECT_GT(
          CompareAll(variant.config, {.seed = seed, .sinks = extras, .mask_embedding = extras}),
          30'000u);
    }
  }
}

TEST_F(GenerateTest, FortyMillionValuesOfOneDrafter) {
  DrafterConfig config = DraftVariantOf("dspark_rnn").config;
  config.hidden_size = 1024;
  config.target_hidden_size = 1024;
  config.num_attention_heads = 16;
  config.num_key_value_heads = 4;
  config.head_dim = 64;
  config.intermediate_size = 3072;
  config.vocab_size = 5003;
  config.markov_rank = 256;
  EXPECT_GT(CompareAll(config, {.seed = 0xFFFF'FFFF'FFFF'FFFF}), 40'000'000u);
}

// BF16 numbers have 8 bits, so that 1 + 2^-8 lies half-way between two of them. A scale far below
// the spacing of float64 leaves the half-way point itself; one just above it leaves values on both
// sides that no float32 tells from it.
TEST_F(GenerateTest, TiesAndTheirNeighbours) {
  constexpr std::uint64_t kCount = 100'000;
  for (const double number : {1.0, 1.0078125, 1.9921875, -1.0, -1.0078125, 0x1p-130, 0x1p100}) {
    const double half_way = number * (1 + 0x1p-8);
    for (const double scale : {0.0, 0x1p-60, 0x1p-52, 0x1p-50, 0x1p-40, 0x1p-30, 0x1p-24, 0x1p-23,
                               0x1p-16, 0x1p-9, 1.0}) {
      EXPECT_EQ(Differing("ties", half_way, scale * std::fabs(number), kCount), 0u)
          << half_way << " +- " << scale;
    }
  }
}

// Subnormal BF16 and float32 numbers, zeros of both signs, the largest numbers.
TEST_F(GenerateTest, BothEndsOfTheRange) {
  constexpr std::uint64_t kCount = 100'000;
  for (const double scale : {0x1p-126, 0x1p-127, 0x1p-132, 0x1p-133, 0x1p-134, 0x1p-140, 0x1p-149,
                             0x1p-150, 0x1p-200, 0x1p126, 0x1.FEp127}) {
    EXPECT_EQ(Differing("ends", 0, scale, kCount), 0u) << scale;
  }
}

// More than the grid's 8192 * 256 threads take in one turn, and counts about a block's end.
TEST_F(GenerateTest, AnyCount) {
  for (const std::uint64_t count : {1, 2, 255, 256, 257, 8192 * 256, 8192 * 256 + 1, 5'000'011}) {
    EXPECT_EQ(Differing("count", 0.25, 1, count), 0u) << count;
  }
  EXPECT_THAT(LaunchGenerateValues({}, stream()), IsOk());
  EXPECT_THAT(LaunchGenerateValues({.count = 1}, stream()),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("out")));
}

}  // namespace
}  // namespace draftmark::kernels
