#include "src/weights/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace draftmark {

Bf16Matrix Bf16Matrix::FromView(const TensorView& view) {
  Bf16Matrix matrix;
  matrix.rows_ = view.shape.size() >= 2 ? view.shape[0] : 1;
  const std::size_t count = view.bytes.size() / sizeof(BFloat16);
  matrix.cols_ = matrix.rows_ == 0 ? 0 : count / matrix.rows_;
  if (reinterpret_cast<std::uintptr_t>(view.bytes.data()) % alignof(BFloat16) == 0) {
    matrix.values_ = {reinterpret_cast<const BFloat16*>(view.bytes.data()), count};
  } else {
    auto copy = std::make_shared<std::vector<BFloat16>>(count);
    if (count > 0) std::memcpy(copy->data(), view.bytes.data(), count * sizeof(BFloat16));
    matrix.values_ = *copy;
    matrix.owned_ = std::move(copy);
  }
  return matrix;
}

Bf16Matrix::Bf16Matrix(std::size_t rows, std::size_t cols, std::vector<BFloat16> values)
    : rows_(rows), cols_(cols) {
  DM_CHECK(values.size() == rows * cols);
  auto owned = std::make_shared<const std::vector<BFloat16>>(std::move(values));
  values_ = *owned;
  owned_ = std::move(owned);
}

Bf16Matrix Bf16Matrix::Reshaped(std::size_t rows) const {
  Bf16Matrix matrix = *this;
  if (empty()) return matrix;
  DM_CHECK(values_.size() % rows == 0);
  matrix.rows_ = rows;
  matrix.cols_ = values_.size() / rows;
  return matrix;
}

namespace {

// Reads tensors by their public names and remembers the first failure, so that the loader below
// reads like the table of spec/drafter.md section 1.1.
class Reader {
 public:
  explicit Reader(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  Bf16Matrix Read(const std::string& name, const Shape& shape) {
    if (!status_.ok()) return {};
    const StatusOr<TensorView> view = checkpoint_.Get(Resolve(name), DType::kBF16, shape);
    if (!view.ok()) {
      status_ = view.status();
      return {};
    }
    return Bf16Matrix::FromView(*view);
  }
  Bf16Matrix ReadIfPresent(const std::string& name, const Shape& shape) {
    return Has(name) ? Read(name, shape) : Bf16Matrix();
  }
  bool Has(const std::string& name) const { return checkpoint_.Has(Resolve(name)); }
  // The first of the names that is in the file, or null.
  const char* FirstPresent(std::span<const char* const> names) const {
    const auto found =
        std::find_if(names.begin(), names.end(), [&](const char* name) { return Has(name); });
    return found == names.end() ? nullptr : *found;
  }
  const std::string& path() const { return checkpoint_.path(); }
  const Status& status() const { return status_; }

 private:
  std::string Resolve(const std::string& name) const {
    const std::string prefixed = "model." + name;
    return !checkpoint_.Has(name) && checkpoint_.Has(prefixed) ? prefixed : name;
  }

  const Checkpoint& checkpoint_;
  Status status_;
};

ConvWeights ReadConv(Reader& reader, const DrafterConfig& c, const std::string& prefix) {
  ConvWeights w;
  const std::uint64_t taps = c.conv_kernel_size;
  w.base_kernel = reader.Read(prefix + "base_kernel", {2, taps, c.hidden_size}).Reshaped(2 * taps);
  w.kernel_projection =
      reader.Read(prefix + "kernel_projection.weight",
                  {2 * taps * (c.hidden_size / c.conv_group_size), c.hidden_size});
  return w;
}

LayerWeights ReadLayer(Reader& reader, const DrafterConfig& c, std::uint64_t index) {
  const std::string prefix = fmt::format("layers.{}.", index);
  const std::string attention = prefix + "self_attn.";
  LayerWeights w;
  w.input_layernorm = reader.Read(prefix + "input_layernorm.weight", {c.hidden_size});
  w.post_attention_layernorm =
      reader.Read(prefix + "post_attention_layernorm.weight", {c.hidden_size});
  w.q_proj = reader.Read(attention + "q_proj.weight", {c.q_dim(), c.hidden_size});
  w.k_proj = reader.Read(attention + "k_proj.weight", {c.kv_dim(), c.hidden_size});
  w.v_proj = reader.Read(attention + "v_proj.weight", {c.kv_dim(), c.hidden_size});
  w.o_proj = reader.Read(attention + "o_proj.weight", {c.hidden_size, c.q_dim()});
  if (c.attention_bias) {
    w.q_bias = reader.Read(attention + "q_proj.bias", {c.q_dim()});
    w.k_bias = reader.Read(attention + "k_proj.bias", {c.kv_dim()});
    w.v_bias = reader.Read(attention + "v_proj.bias", {c.kv_dim()});
    w.o_bias = reader.Read(attention + "o_proj.bias", {c.hidden_size});
  }
  w.q_norm = reader.Read(attention + "q_norm.weight", {c.head_dim});
  w.k_norm = reader.Read(attention + "k_norm.weight", {c.head_dim});
  w.gate_proj = reader.Read(prefix + "mlp.gate_proj.weight", {c.intermediate_size, c.hidden_size});
  w.up_proj = reader.Read(prefix + "mlp.up_proj.weight", {c.intermediate_size, c.hidden_size});
  w.down_proj = reader.Read(prefix + "mlp.down_proj.weight", {c.hidden_size, c.intermediate_size});
  w.sinks = reader.ReadIfPresent(attention + "sinks", {c.num_attention_heads});
  if (c.conv_kernel_size > 0) {
    w.attention_conv = ReadConv(reader, c, prefix + "attention_conv.");
    w.mlp_conv = ReadConv(reader, c, prefix + "mlp_conv.");
  }
  return w;
}

SelectorWeights ReadSelector(Reader& reader, const DrafterConfig& c) {
  SelectorWeights w;
  const std::string prefix = "candidate_selector.";
  // Codebooks appear in files with and without a suffix.
  const auto codebook = [&](const std::string& name) {
    const std::string suffixed = prefix + name + ".weight";
    return reader.Read(reader.Has(suffixed) ? suffixed : prefix + name,
                       {c.vocab_size, c.selector_rank});
  };
  w.predecessor = codebook("predecessor_codebook");
  w.successor = codebook("successor_codebook");
  w.hidden_projection =
      reader.Read(prefix + "hidden_projection.weight", {c.selector_rank, c.hidden_size});
  return w;
}

// All names of the heads that a checkpoint may leave out. One of them is enough to mean the head.
constexpr const char* kSelectorTensors[] = {
    "candidate_selector.hidden_projection.weight",    "candidate_selector.predecessor_codebook",
    "candidate_selector.predecessor_codebook.weight", "candidate_selector.successor_codebook",
    "candidate_selector.successor_codebook.weight",
};
constexpr const char* kMarkovTensors[] = {
    "markov_head.markov_w1.weight", "markov_head.markov_w2.weight",  "markov_head.gate_proj.weight",
    "markov_head.gate_proj.bias",   "markov_head.joint_proj.weight", "markov_head.joint_proj.bias",
};
constexpr const char* kConfidenceTensors[] = {
    "confidence_head.proj.weight",
    "confidence_head.proj.bias",
};

// Absent altogether: the head is off, although the config names a rank.
MarkovWeights ReadMarkov(Reader& reader, const DrafterConfig& c) {
  MarkovWeights w;
  const std::string prefix = "markov_head.";
  const std::uint64_t rank = c.markov_rank;
  if (rank == 0 || reader.FirstPresent(kMarkovTensors) == nullptr) return w;
  w.w1 = reader.Read(prefix + "markov_w1.weight", {c.vocab_size, rank});
  w.w2 = reader.Read(prefix + "markov_w2.weight", {c.vocab_size, rank});
  const std::string type = c.markov_head_type.value_or("vanilla");
  if (type == "gated") {
    w.type = MarkovType::kGated;
    w.gate_proj = reader.Read(prefix + "gate_proj.weight", {rank, c.hidden_size + rank});
    w.gate_bias = reader.Read(prefix + "gate_proj.bias", {rank});
  } else if (type == "rnn") {
    w.type = MarkovType::kRnn;
    w.joint_proj = reader.Read(prefix + "joint_proj.weight", {3 * rank, 2 * rank + c.hidden_size});
    w.joint_bias = reader.Read(prefix + "joint_proj.bias", {3 * rank});
  }
  return w;
}

StatusOr<ConfidenceWeights> ReadConfidence(Reader& reader, const DrafterConfig& c,
                                           bool markov_active) {
  ConfidenceWeights w;
  const std::string name = "confidence_head.proj.weight";
  if (!c.confidence_head || reader.FirstPresent(kConfidenceTensors) == nullptr) return w;
  if (c.confidence_head_with_markov && !markov_active) {
    return InvalidArgumentError(
        fmt::format("{}: tensor {}: the config says confidence_head_with_markov, but there is no "
                    "Markov head to read from",
                    reader.path(), name));
  }
  const std::uint64_t width = c.hidden_size + (c.confidence_head_with_markov ? c.markov_rank : 0);
  w.proj = reader.Read(name, {1, width});
  w.bias = reader.Read("confidence_head.proj.bias", {1});
  return w;
}

// A tensor that the config does not announce would be dropped silently, and the drafts would be
// wrong.
Status CheckHeadsAreAnnounced(const Reader& reader, const DrafterConfig& c) {
  const std::string type = c.markov_head_type.value_or("vanilla");
  const std::span<const char* const> markov(kMarkovTensors);
  for (const auto& [names, announced] :
       {std::pair<std::span<const char* const>, bool>{kSelectorTensors, c.conv_kernel_size > 0},
        {markov, c.markov_rank > 0},
        {markov.subspan(2, 2), type == "gated"},
        {markov.subspan(4, 2), type == "rnn"},
        {kConfidenceTensors, c.confidence_head}}) {
    const char* const name = reader.FirstPresent(names);
    if (name != nullptr && !announced) {
      return InvalidArgumentError(fmt::format(
          "{}: tensor {} is present, but the config announces no such head", reader.path(), name));
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<DrafterWeights> LoadDrafterWeights(const DrafterConfig& config,
                                            std::shared_ptr<const Checkpoint> checkpoint) {
  Reader reader(*checkpoint);
  DrafterWeights weights;
  weights.fc = reader.Read("fc.weight", {config.hidden_size, config.tap_width()});
  weights.hidden_norm = reader.Read("hidden_norm.weight", {config.hidden_size});
  weights.norm = reader.Read("norm.weight", {config.hidden_size});
  for (std::uint64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    if (!reader.status().ok()) break;
    // A bias that the config does not announce would be dropped silently, and the drafts would be
    // wrong.
    for (const char* projection : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
      const std::string bias = fmt::format("layers.{}.self_attn.{}.bias", layer, projection);
      if (!config.attention_bias && reader.Has(bias)) {
        return InvalidArgumentError(
            fmt::format("{}: tensor {} is present, but the config says attention_bias false",
                        checkpoint->path(), bias));
      }
    }
    weights.layers.push_back(ReadLayer(reader, config, layer));
  }
  const Shape vocabulary = {config.vocab_size, config.hidden_size};
  weights.embed = reader.Read("embed_tokens.weight", vocabulary);
  const bool tied = config.tie_word_embeddings && !reader.Has("lm_head.weight");
  weights.lm_head = tied ? weights.embed : reader.Read("lm_head.weight", vocabulary);
  weights.mask_embedding = reader.ReadIfPresent("mask_embedding", {config.hidden_size});
  if (config.conv_kernel_size > 0) {
    // Without its selector such a drafter would run without its convolutions in the engine that the
    // scratch belongs to.
    if (!reader.Has("candidate_selector.hidden_projection.weight")) {
      return InvalidArgumentError(
          fmt::format("{}: the config has convolutions (conv_kernel_size {}), but tensor "
                      "candidate_selector.hidden_projection.weight "
                      "is absent: a conv-only checkpoint cannot be run",
                      checkpoint->path(), config.conv_kernel_size));
    }
    weights.selector = ReadSelector(reader, config);
  }
  DM_RETURN_IF_ERROR(CheckHeadsAreAnnounced(reader, config));
  weights.markov = ReadMarkov(reader, config);
  // What could not be read must not be taken for an absent Markov head below.
  DM_RETURN_IF_ERROR(reader.status());
  DM_ASSIGN_OR_RETURN(weights.confidence, ReadConfidence(reader, config, weights.markov.present()));
  DM_RETURN_IF_ERROR(reader.status());
  weights.checkpoint = std::move(checkpoint);
  return weights;
}

}  // namespace draftmark
