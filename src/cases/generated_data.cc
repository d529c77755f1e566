#include "src/cases/generated_data.h"

#include <fmt/format.h>

#include <cmath>

#include "src/base/checked.h"
#include "src/base/counter_hash.h"
#include "src/base/memory_file_system.h"
#include "src/base/parallel.h"

namespace draftmark {
namespace {

constexpr std::string_view kName = "draftmark";

// Collects the tensors of one drafter.
class TensorList {
 public:
  // Results of a product with it keep the size of its input: variance 1 / cols.
  void Matrix(const std::string& name, std::uint64_t rows, std::uint64_t cols) {
    tensors_.push_back({name, {rows, cols}, 0, std::sqrt(3.0 / static_cast<double>(cols))});
  }
  // Rows that are looked up, of full size.
  void Table(const std::string& name, std::uint64_t rows, std::uint64_t cols) {
    tensors_.push_back({name, {rows, cols}, 0, 1});
  }
  void Norm(const std::string& name, std::uint64_t width) {
    tensors_.push_back({name, {width}, 1, 0.5});
  }
  void Vector(const std::string& name, std::uint64_t width, double scale) {
    tensors_.push_back({name, {width}, 0, scale});
  }
  void Any(GeneratedTensor tensor) { tensors_.push_back(std::move(tensor)); }
  std::vector<GeneratedTensor> Take() { return std::move(tensors_); }

 private:
  std::vector<GeneratedTensor> tensors_;
};

constexpr double kBiasScale = 0.25;

void AddConv(TensorList& list, const DrafterConfig& c, const std::string& prefix) {
  const std::uint64_t taps = c.conv_kernel_size;
  // A quarter: with two sites a layer, sums of moved taps must not outgrow the residual stream.
  list.Any({prefix + "base_kernel", {2, taps, c.hidden_size}, 0.5, 0.5});
  list.Any({prefix + "kernel_projection.weight",
            {2 * taps * (c.hidden_size / c.conv_group_size), c.hidden_size},
            0,
            0.25 * std::sqrt(3.0 / static_cast<double>(c.hidden_size))});
}

void AddLayer(TensorList& list, const DrafterConfig& c, const DataGenerator& generator,
              std::uint64_t layer) {
  const std::string prefix = fmt::format("layers.{}.", layer);
  const std::string attention = prefix + "self_attn.";
  list.Norm(prefix + "input_layernorm.weight", c.hidden_size);
  list.Norm(prefix + "post_attention_layernorm.weight", c.hidden_size);
  list.Matrix(attention + "q_proj.weight", c.q_dim(), c.hidden_size);
  list.Matrix(attention + "k_proj.weight", c.kv_dim(), c.hidden_size);
  list.Matrix(attention + "v_proj.weight", c.kv_dim(), c.hidden_size);
  list.Matrix(attention + "o_proj.weight", c.hidden_size, c.q_dim());
  if (c.attention_bias) {
    list.Vector(attention + "q_proj.bias", c.q_dim(), kBiasScale);
    list.Vector(attention + "k_proj.bias", c.kv_dim(), kBiasScale);
    list.Vector(attention + "v_proj.bias", c.kv_dim(), kBiasScale);
    list.Vector(attention + "o_proj.bias", c.hidden_size, kBiasScale);
  }
  list.Norm(attention + "q_norm.weight", c.head_dim);
  list.Norm(attention + "k_norm.weight", c.head_dim);
  if (generator.sinks) list.Vector(attention + "sinks", c.num_attention_heads, 2);
  list.Matrix(prefix + "mlp.gate_proj.weight", c.intermediate_size, c.hidden_size);
  list.Matrix(prefix + "mlp.up_proj.weight", c.intermediate_size, c.hidden_size);
  list.Matrix(prefix + "mlp.down_proj.weight", c.hidden_size, c.intermediate_size);
  if (c.conv_kernel_size > 0) {
    AddConv(list, c, prefix + "attention_conv.");
    AddConv(list, c, prefix + "mlp_conv.");
  }
}

void AddHeads(TensorList& list, const DrafterConfig& c) {
  if (c.selector_rank > 0) {
    const std::string prefix = "candidate_selector.";
    list.Table(prefix + "predecessor_codebook", c.vocab_size, c.selector_rank);
    list.Matrix(prefix + "successor_codebook", c.vocab_size, c.selector_rank);
    list.Matrix(prefix + "hidden_projection.weight", c.selector_rank, c.hidden_size);
  }
  if (c.markov_rank > 0) {
    const std::string prefix = "markov_head.";
    const std::uint64_t rank = c.markov_rank;
    list.Table(prefix + "markov_w1.weight", c.vocab_size, rank);
    list.Matrix(prefix + "markov_w2.weight", c.vocab_size, rank);
    const std::string type = c.markov_head_type.value_or("vanilla");
    if (type == "gated") {
      list.Matrix(prefix + "gate_proj.weight", rank, c.hidden_size + rank);
      list.Vector(prefix + "gate_proj.bias", rank, kBiasScale);
    } else if (type == "rnn") {
      list.Matrix(prefix + "joint_proj.weight", 3 * rank, 2 * rank + c.hidden_size);
      list.Vector(prefix + "joint_proj.bias", 3 * rank, kBiasScale);
    }
  }
  if (c.confidence_head) {
    const std::uint64_t width = c.hidden_size + (c.confidence_head_with_markov ? c.markov_rank : 0);
    list.Matrix("confidence_head.proj.weight", 1, width);
    list.Vector("confidence_head.proj.bias", 1, kBiasScale);
  }
}

}  // namespace

StatusOr<std::optional<DataGenerator>> ReadGenerator(const JsonObject& root) {
  if (!root.Has("generator")) return std::optional<DataGenerator>();
  DM_ASSIGN_OR_RETURN(const JsonObject object, root.Object("generator"));
  DM_ASSIGN_OR_RETURN(const std::string name, object.String("name"));
  DM_ASSIGN_OR_RETURN(const std::uint64_t version, object.U64("version"));
  if (name != kName) return object.TypeError("name", fmt::format("\"{}\"", kName));
  if (version != kGeneratorVersion) {
    return object.TypeError("version", fmt::format("{}", kGeneratorVersion));
  }
  DataGenerator generator;
  DM_ASSIGN_OR_RETURN(generator.seed, object.U64("seed"));
  DM_ASSIGN_OR_RETURN(generator.sinks, object.BoolOr("sinks", false));
  DM_ASSIGN_OR_RETURN(generator.mask_embedding, object.BoolOr("mask_embedding", false));
  DM_ASSIGN_OR_RETURN(generator.tap_scale, object.NumberOr("tap_scale", generator.tap_scale));
  // Taps are BF16; above it nothing could be summed up in FP32.
  constexpr double kLargestScale = 0x1p100;
  if (!(generator.tap_scale > 0 && generator.tap_scale <= kLargestScale)) {
    return object.TypeError("tap_scale", "a number above 0, at most 2^100");
  }
  return std::optional<DataGenerator>(generator);
}

OrderedJson GeneratorToJson(const DataGenerator& generator) {
  OrderedJson json = {{"name", kName},
                      {"version", kGeneratorVersion},
                      {"seed", generator.seed},
                      {"sinks", generator.sinks},
                      {"mask_embedding", generator.mask_embedding}};
  if (generator.tap_scale != DataGenerator().tap_scale) json["tap_scale"] = generator.tap_scale;
  return json;
}

std::vector<GeneratedTensor> GeneratedTensors(const DrafterConfig& c,
                                              const DataGenerator& generator) {
  TensorList list;
  list.Matrix("fc.weight", c.hidden_size, c.tap_width());
  list.Norm("hidden_norm.weight", c.hidden_size);
  list.Norm("norm.weight", c.hidden_size);
  for (std::uint64_t layer = 0; layer < c.num_hidden_layers; ++layer) {
    AddLayer(list, c, generator, layer);
  }
  AddHeads(list, c);
  list.Table("embed_tokens.weight", c.vocab_size, c.hidden_size);
  list.Matrix("lm_head.weight", c.vocab_size, c.hidden_size);
  if (generator.mask_embedding) list.Vector("mask_embedding", c.hidden_size, 1);
  return list.Take();
}

namespace {

// `total` plus the elements of one tensor, or an error.
StatusOr<std::uint64_t> AddElements(std::uint64_t total, const GeneratedTensor& tensor) {
  CheckedU64 elements = 1;
  for (const std::uint64_t dim : tensor.shape) elements *= dim;
  const CheckedU64 sum = elements + total;
  if (!sum.ok() || sum.value() > kMostGeneratedElements) {
    return ResourceExhaustedError(
        fmt::format("tensor {} {}: generated data may have {} elements in all", tensor.name,
                    ShapeToString(tensor.shape), kMostGeneratedElements));
  }
  return sum.value();
}

}  // namespace

std::uint64_t SeedOfTensor(const DataGenerator& generator, const std::string& name) {
  return SeedOf(fmt::format("{}/{}", generator.seed, name));
}

StatusOr<std::vector<BFloat16>> GenerateValues(const DataGenerator& generator,
                                               const GeneratedTensor& tensor) {
  DM_ASSIGN_OR_RETURN(const std::uint64_t elements, AddElements(0, tensor));
  std::vector<BFloat16> values(elements);
  const std::uint64_t seed = SeedOfTensor(generator, tensor.name);
  // A thread is worth its start from about a hundred thousand elements on.
  ParallelFor(elements, 100'000, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      values[i] = BFloat16::FromDouble(tensor.offset + tensor.scale * (2 * UniformAt(seed, i) - 1));
    }
  });
  return values;
}

Status CheckGeneratedWeights(const DrafterConfig& config, const DataGenerator& generator) {
  std::uint64_t total = 0;
  for (const GeneratedTensor& tensor : GeneratedTensors(config, generator)) {
    DM_ASSIGN_OR_RETURN(total, AddElements(total, tensor));
  }
  return OkStatus();
}

StatusOr<Checkpoint> GenerateCheckpoint(const DrafterConfig& config, const DataGenerator& generator,
                                        const std::string& path) {
  DM_RETURN_IF_ERROR(CheckGeneratedWeights(config, generator).Annotated(path));
  const std::vector<GeneratedTensor> tensors = GeneratedTensors(config, generator);
  std::vector<std::vector<BFloat16>> values;  // until they are written
  SafetensorsWriter writer;
  for (const GeneratedTensor& tensor : tensors) {
    DM_ASSIGN_OR_RETURN(std::vector<BFloat16> drawn, GenerateValues(generator, tensor));
    values.push_back(std::move(drawn));
    DM_RETURN_IF_ERROR(writer.Add(
        tensor.name, {DType::kBF16, tensor.shape, std::as_bytes(std::span(values.back()))}));
  }
  MemoryFileSystem files;
  DM_RETURN_IF_ERROR(writer.Write(path, files));
  return Checkpoint::Open(path, files);
}

StatusOr<std::vector<BFloat16>> GenerateTaps(const DrafterConfig& config,
                                             const DataGenerator& generator, std::size_t step,
                                             std::uint64_t rows) {
  return GenerateValues(generator, {fmt::format("step{}.inputs.target_hidden", step),
                                    {rows, config.tap_width()},
                                    0,
                                    generator.tap_scale});
}

}  // namespace draftmark
