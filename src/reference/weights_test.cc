#include "src/reference/weights.h"

#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "src/base/status_matchers.h"
#include "src/reference/random_drafter.h"

namespace draftmark::reference {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct FileTensor {
  DType dtype;
  Shape shape;
};
using FileTensors = std::map<std::string, FileTensor>;

// Names and shapes of a public checkpoint of the small drafter.
FileTensors SmallCheckpoint() {
  const DrafterConfig c = SmallDrafterConfig();
  FileTensors t;
  const auto add = [&](const std::string& name, Shape shape) {
    t[name] = {DType::kBF16, std::move(shape)};
  };
  add("fc.weight", {48, 144});
  add("hidden_norm.weight", {48});
  add("norm.weight", {48});
  add("embed_tokens.weight", {101, 48});
  add("lm_head.weight", {101, 48});
  for (std::uint64_t l = 0; l < c.num_hidden_layers; ++l) {
    const std::string p = "layers." + std::to_string(l) + ".";
    add(p + "input_layernorm.weight", {48});
    add(p + "post_attention_layernorm.weight", {48});
    add(p + "self_attn.q_proj.weight", {96, 48});
    add(p + "self_attn.k_proj.weight", {32, 48});
    add(p + "self_attn.v_proj.weight", {32, 48});
    add(p + "self_attn.o_proj.weight", {48, 96});
    add(p + "self_attn.q_norm.weight", {16});
    add(p + "self_attn.k_norm.weight", {16});
    add(p + "mlp.gate_proj.weight", {80, 48});
    add(p + "mlp.up_proj.weight", {80, 48});
    add(p + "mlp.down_proj.weight", {48, 80});
  }
  return t;
}

StatusOr<DrafterWeights> WriteAndLoad(const DrafterConfig& config, const FileTensors& tensors) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/weights.safetensors";
  const std::vector<std::byte> zeros(1 << 20);
  SafetensorsWriter writer;
  for (const auto& [name, tensor] : tensors) {
    std::uint64_t bytes = DTypeBits(tensor.dtype) / 8;
    for (const std::uint64_t extent : tensor.shape) bytes *= extent;
    DM_RETURN_IF_ERROR(
        writer.Add(name, {tensor.dtype, tensor.shape, std::span(zeros).first(bytes)}));
  }
  DM_RETURN_IF_ERROR(writer.Write(path));
  DM_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::Open(path));
  return LoadDrafterWeights(config, std::make_shared<const Checkpoint>(std::move(checkpoint)));
}

TEST(WeightsTest, LoadsPublicNames) {
  DM_ASSERT_OK_AND_ASSIGN(const DrafterWeights weights,
                          WriteAndLoad(SmallDrafterConfig(), SmallCheckpoint()));
  EXPECT_EQ(weights.layers.size(), 2u);
  EXPECT_EQ(weights.layers[1].o_proj.rows(), 48u);
  EXPECT_EQ(weights.layers[1].o_proj.cols(), 96u);
  EXPECT_TRUE(weights.layers[0].q_bias.empty());
}

TEST(WeightsTest, AcceptsTheModelPrefix) {
  FileTensors prefixed;
  for (const auto& [name, tensor] : SmallCheckpoint()) prefixed["model." + name] = tensor;
  EXPECT_THAT(WriteAndLoad(SmallDrafterConfig(), prefixed), IsOk());
}

TEST(WeightsTest, EveryMissingTensorIsNamed) {
  for (const auto& [name, ignored] : SmallCheckpoint()) {
    FileTensors tensors = SmallCheckpoint();
    tensors.erase(name);
    EXPECT_THAT(
        WriteAndLoad(SmallDrafterConfig(), tensors),
        StatusIs(StatusCode::kNotFound, AllOf(HasSubstr("weights.safetensors"), HasSubstr(name))));
  }
}

TEST(WeightsTest, EveryWrongShapeAndDtypeIsNamed) {
  for (const auto& [name, original] : SmallCheckpoint()) {
    FileTensors tensors = SmallCheckpoint();
    tensors[name].shape.back() += 1;
    EXPECT_THAT(WriteAndLoad(SmallDrafterConfig(), tensors),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(name)));
    tensors[name] = {DType::kF16, original.shape};
    EXPECT_THAT(WriteAndLoad(SmallDrafterConfig(), tensors),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(name), HasSubstr("BF16"), HasSubstr("F16"))));
  }
}

TEST(WeightsTest, BiasesMustMatchTheConfig) {
  DrafterConfig config = SmallDrafterConfig();
  FileTensors tensors = SmallCheckpoint();
  for (const char* p : {"layers.0.self_attn.", "layers.1.self_attn."}) {
    tensors[std::string(p) + "q_proj.bias"] = {DType::kBF16, {96}};
    tensors[std::string(p) + "k_proj.bias"] = {DType::kBF16, {32}};
    tensors[std::string(p) + "v_proj.bias"] = {DType::kBF16, {32}};
    tensors[std::string(p) + "o_proj.bias"] = {DType::kBF16, {48}};
  }
  EXPECT_THAT(
      WriteAndLoad(config, tensors),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("config says attention_bias false")));
  for (const char* name : {"layers.1.self_attn.k_proj.bias", "layers.0.self_attn.v_proj.bias",
                           "layers.1.self_attn.o_proj.bias"}) {
    FileTensors one = SmallCheckpoint();
    one[name] = tensors[name];
    EXPECT_THAT(WriteAndLoad(config, one), StatusIs(StatusCode::kInvalidArgument, HasSubstr(name)));
  }
  config.attention_bias = true;
  EXPECT_THAT(WriteAndLoad(config, tensors), IsOk());
  EXPECT_THAT(WriteAndLoad(config, SmallCheckpoint()),
              StatusIs(StatusCode::kNotFound, HasSubstr("q_proj.bias")));
}

TEST(WeightsTest, HeadsThatTheConfigDoesNotAnnounce) {
  for (const auto& [name, shape] :
       std::map<std::string, Shape>{{"candidate_selector.hidden_projection.weight", {8, 48}},
                                    {"markov_head.markov_w1.weight", {101, 8}},
                                    {"confidence_head.proj.weight", {1, 48}}}) {
    FileTensors tensors = SmallCheckpoint();
    tensors[name] = {DType::kBF16, shape};
    EXPECT_THAT(
        WriteAndLoad(SmallDrafterConfig(), tensors),
        StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr(name), HasSubstr("no such head"))));
  }
}

TEST(WeightsTest, TiedEmbeddings) {
  DrafterConfig config = SmallDrafterConfig();
  FileTensors tensors = SmallCheckpoint();
  tensors.erase("lm_head.weight");
  config.tie_word_embeddings = true;
  DM_ASSERT_OK_AND_ASSIGN(const DrafterWeights weights, WriteAndLoad(config, tensors));
  EXPECT_EQ(weights.lm_head.values().data(), weights.embed.values().data());
}

TEST(Bf16MatrixTest, CopiesUnalignedBytesOnly) {
  alignas(8) std::byte bytes[8] = {std::byte{0}, std::byte{0x80}, std::byte{0x3F}, std::byte{0},
                                   std::byte{0x40}};
  const Bf16Matrix aligned = Bf16Matrix::FromView({DType::kBF16, {2}, std::span(bytes).first(4)});
  EXPECT_EQ(static_cast<const void*>(aligned.values().data()), static_cast<const void*>(bytes));
  const Bf16Matrix unaligned =
      Bf16Matrix::FromView({DType::kBF16, {1, 2}, std::span(bytes).subspan(1, 4)});
  EXPECT_EQ(unaligned.row(0)[0].ToDouble(), 1);
  EXPECT_EQ(unaligned.row(0)[1].ToDouble(), 2);
  EXPECT_EQ(unaligned.rows(), 1u);
}

}  // namespace
}  // namespace draftmark::reference
