#include "src/weights/weights.h"

#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "src/base/status_matchers.h"
#include "src/weights/random_drafter.h"

namespace draftmark {
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
                                    {"candidate_selector.successor_codebook", {101, 8}},
                                    {"markov_head.markov_w1.weight", {101, 8}},
                                    {"markov_head.markov_w2.weight", {101, 8}},
                                    {"markov_head.joint_proj.bias", {24}},
                                    {"confidence_head.proj.weight", {1, 48}},
                                    {"confidence_head.proj.bias", {1}}}) {
    FileTensors tensors = SmallCheckpoint();
    tensors[name] = {DType::kBF16, shape};
    EXPECT_THAT(
        WriteAndLoad(SmallDrafterConfig(), tensors),
        StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr(name), HasSubstr("no such head"))));
  }
}

// --- The NULL rules of spec/dflash_scratch.md section 1: a head that is absent is off, one that is
// there in part is an error.

DrafterConfig DsparkConfig(const std::string& type) {
  DrafterConfig config = SmallDrafterConfig();
  config.kind = DrafterKind::kDspark;
  config.markov_rank = 8;
  config.markov_head_type = type;
  config.confidence_head = true;
  config.confidence_head_with_markov = true;
  return config;
}

FileTensors MarkovTensors(const std::string& type) {
  const std::string p = "markov_head.";
  FileTensors t = {{p + "markov_w1.weight", {DType::kBF16, {101, 8}}},
                   {p + "markov_w2.weight", {DType::kBF16, {101, 8}}}};
  if (type == "gated") {
    t[p + "gate_proj.weight"] = {DType::kBF16, {8, 56}};
    t[p + "gate_proj.bias"] = {DType::kBF16, {8}};
  } else if (type == "rnn") {
    t[p + "joint_proj.weight"] = {DType::kBF16, {24, 64}};
    t[p + "joint_proj.bias"] = {DType::kBF16, {24}};
  }
  return t;
}

FileTensors ConfidenceTensors() {
  return {{"confidence_head.proj.weight", {DType::kBF16, {1, 56}}},
          {"confidence_head.proj.bias", {DType::kBF16, {1}}}};
}

FileTensors Joined(FileTensors tensors, const FileTensors& more) {
  tensors.insert(more.begin(), more.end());
  return tensors;
}

TEST(AbsentHeadsTest, AnAbsentHeadIsOff) {
  const DrafterConfig config = DsparkConfig("vanilla");
  DM_ASSERT_OK_AND_ASSIGN(const DrafterWeights neither, WriteAndLoad(config, SmallCheckpoint()));
  EXPECT_FALSE(neither.markov.present());
  EXPECT_FALSE(neither.confidence.present());
  EXPECT_FALSE(neither.selector.present());
  DM_ASSERT_OK_AND_ASSIGN(
      const DrafterWeights markov,
      WriteAndLoad(config, Joined(SmallCheckpoint(), MarkovTensors("vanilla"))));
  EXPECT_TRUE(markov.markov.present());
  EXPECT_FALSE(markov.confidence.present());
}

TEST(AbsentHeadsTest, AMarkovHeadInPartNamesWhatIsMissing) {
  for (const std::string type : {"vanilla", "gated", "rnn"}) {
    const DrafterConfig config = DsparkConfig(type);
    const FileTensors whole =
        Joined(Joined(SmallCheckpoint(), MarkovTensors(type)), ConfidenceTensors());
    EXPECT_THAT(WriteAndLoad(config, whole), IsOk()) << type;
    for (const auto& [name, tensor] : MarkovTensors(type)) {
      FileTensors part = whole;
      part.erase(name);
      EXPECT_THAT(WriteAndLoad(config, part), StatusIs(StatusCode::kNotFound, HasSubstr(name)));
      part[name] = {DType::kBF16, {7}};
      EXPECT_THAT(WriteAndLoad(config, part),
                  StatusIs(StatusCode::kInvalidArgument, HasSubstr(name)));
    }
  }
}

TEST(AbsentHeadsTest, OneTensorOfAHeadIsAHeadInPart) {
  for (const std::string type : {"vanilla", "gated", "rnn"}) {
    for (const auto& [name, tensor] : MarkovTensors(type)) {
      FileTensors tensors = SmallCheckpoint();
      tensors[name] = tensor;
      EXPECT_THAT(WriteAndLoad(DsparkConfig(type), tensors),
                  StatusIs(StatusCode::kNotFound, HasSubstr("markov_head.markov_w")))
          << name;
    }
  }
  DrafterConfig config = DsparkConfig("vanilla");
  config.confidence_head_with_markov = false;
  FileTensors tensors = SmallCheckpoint();
  tensors["confidence_head.proj.bias"] = {DType::kBF16, {1}};
  EXPECT_THAT(WriteAndLoad(config, tensors),
              StatusIs(StatusCode::kNotFound, HasSubstr("confidence_head.proj.weight")));
}

TEST(AbsentHeadsTest, AMarkovHeadOfAnotherTypeThanTheConfigSays) {
  for (const auto& [type, others] : std::map<std::string, std::vector<std::string>>{
           {"vanilla", {"gated", "rnn"}}, {"gated", {"rnn"}}, {"rnn", {"gated"}}}) {
    for (const std::string& other : others) {
      const FileTensors tensors =
          Joined(Joined(SmallCheckpoint(), MarkovTensors(type)), MarkovTensors(other));
      EXPECT_THAT(WriteAndLoad(DsparkConfig(type), tensors),
                  StatusIs(StatusCode::kInvalidArgument,
                           AllOf(HasSubstr(other == "gated" ? "markov_head.gate_proj.weight"
                                                            : "markov_head.joint_proj.weight"),
                                 HasSubstr("the config announces no such head"))));
    }
  }
}

TEST(AbsentHeadsTest, AConfidenceHeadReadsWhatTheConfigSays) {
  DrafterConfig config = DsparkConfig("vanilla");
  EXPECT_THAT(WriteAndLoad(config, Joined(SmallCheckpoint(), ConfidenceTensors())),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("confidence_head.proj.weight"),
                             HasSubstr("there is no Markov head to read from"))));
  FileTensors tensors = Joined(SmallCheckpoint(), ConfidenceTensors());
  tensors["confidence_head.proj.weight"] = {DType::kBF16, {1, 48}};
  config.confidence_head_with_markov = false;
  DM_ASSERT_OK_AND_ASSIGN(const DrafterWeights weights, WriteAndLoad(config, tensors));
  EXPECT_EQ(weights.confidence.proj.cols(), 48u);
  tensors.erase("confidence_head.proj.bias");
  EXPECT_THAT(WriteAndLoad(config, tensors),
              StatusIs(StatusCode::kNotFound, HasSubstr("confidence_head.proj.bias")));
}

TEST(AbsentHeadsTest, ConvolutionsNeedTheirSelectorAndItsParts) {
  DrafterConfig config = SmallDrafterConfig();
  config.kind = DrafterKind::kDflash2;
  config.conv_kernel_size = 2;
  config.conv_group_size = 16;
  config.selector_rank = 8;
  config.selector_top_k = 16;
  FileTensors convolutions = SmallCheckpoint();
  for (const std::string layer : {"layers.0.", "layers.1."}) {
    for (const std::string site : {"attention_conv.", "mlp_conv."}) {
      convolutions[layer + site + "base_kernel"] = {DType::kBF16, {2, 2, 48}};
      convolutions[layer + site + "kernel_projection.weight"] = {DType::kBF16, {12, 48}};
    }
  }
  EXPECT_THAT(
      WriteAndLoad(config, convolutions),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("a conv-only checkpoint cannot be run")));
  const FileTensors selector = {
      {"candidate_selector.predecessor_codebook", {DType::kBF16, {101, 8}}},
      {"candidate_selector.successor_codebook", {DType::kBF16, {101, 8}}},
      {"candidate_selector.hidden_projection.weight", {DType::kBF16, {8, 48}}}};
  const FileTensors whole = Joined(convolutions, selector);
  DM_ASSERT_OK_AND_ASSIGN(const DrafterWeights weights, WriteAndLoad(config, whole));
  EXPECT_TRUE(weights.selector.present());
  for (const auto& [name, tensor] : whole) {
    if (SmallCheckpoint().contains(name) || name.ends_with("hidden_projection.weight")) continue;
    FileTensors part = whole;
    part.erase(name);
    EXPECT_THAT(WriteAndLoad(config, part), StatusIs(StatusCode::kNotFound, HasSubstr(name)));
  }
  FileTensors headless = whole;
  headless.erase("candidate_selector.hidden_projection.weight");
  EXPECT_THAT(WriteAndLoad(config, headless),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("hidden_projection.weight")));
  // Codebooks with a suffix are the same.
  FileTensors suffixed = convolutions;
  for (const auto& [name, tensor] : selector)
    suffixed[name.ends_with("codebook") ? name + ".weight" : name] = tensor;
  EXPECT_THAT(WriteAndLoad(config, suffixed), IsOk());
}

TEST(WeightsTest, AMaskEmbeddingAndSinksAreOptional) {
  FileTensors tensors = SmallCheckpoint();
  DM_ASSERT_OK_AND_ASSIGN(const DrafterWeights without,
                          WriteAndLoad(SmallDrafterConfig(), tensors));
  EXPECT_TRUE(without.mask_embedding.empty());
  EXPECT_TRUE(without.layers[1].sinks.empty());
  tensors["mask_embedding"] = {DType::kBF16, {48}};
  tensors["layers.1.self_attn.sinks"] = {DType::kBF16, {6}};
  DM_ASSERT_OK_AND_ASSIGN(const DrafterWeights with, WriteAndLoad(SmallDrafterConfig(), tensors));
  EXPECT_EQ(with.mask_embedding.values().size(), 48u);
  EXPECT_TRUE(with.layers[0].sinks.empty());
  EXPECT_EQ(with.layers[1].sinks.values().size(), 6u);
  for (const auto& [name, wrong] :
       std::map<std::string, Shape>{{"mask_embedding", {47}}, {"layers.1.self_attn.sinks", {2}}}) {
    FileTensors misshapen = tensors;
    misshapen[name].shape = wrong;
    EXPECT_THAT(WriteAndLoad(SmallDrafterConfig(), misshapen),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(name)));
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
  const Bf16Matrix empty =
      Bf16Matrix::FromView({DType::kBF16, {0, 2}, std::span(bytes).subspan(1, 0)});
  EXPECT_TRUE(empty.values().empty());
}

}  // namespace
}  // namespace draftmark
