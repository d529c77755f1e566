#include "src/reference/weights.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace draftmark::reference {

Bf16Matrix Bf16Matrix::FromView(const TensorView& view) {
  Bf16Matrix matrix;
  matrix.rows_ = view.shape.size() == 2 ? view.shape[0] : 1;
  matrix.cols_ = view.shape.empty() ? 1 : view.shape.back();
  const std::size_t count = view.bytes.size() / sizeof(BFloat16);
  if (reinterpret_cast<std::uintptr_t>(view.bytes.data()) % alignof(BFloat16) == 0) {
    matrix.values_ = {reinterpret_cast<const BFloat16*>(view.bytes.data()), count};
  } else {
    auto copy = std::make_shared<std::vector<BFloat16>>(count);
    std::memcpy(copy->data(), view.bytes.data(), count * sizeof(BFloat16));
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

namespace {

// Reads tensors by their public names and remembers the first failure, so that the loader below
// reads like the table of spec/drafter.md section 1.1.
class Reader {
 public:
  explicit Reader(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  Bf16Matrix Read(const std::string& name, Shape shape) {
    if (!status_.ok()) return {};
    const StatusOr<TensorView> view = checkpoint_.Get(Resolve(name), DType::kBF16, shape);
    if (!view.ok()) {
      status_ = view.status();
      return {};
    }
    return Bf16Matrix::FromView(*view);
  }
  bool Has(const std::string& name) const { return checkpoint_.Has(Resolve(name)); }
  const Status& status() const { return status_; }

 private:
  std::string Resolve(const std::string& name) const {
    const std::string prefixed = "model." + name;
    return !checkpoint_.Has(name) && checkpoint_.Has(prefixed) ? prefixed : name;
  }

  const Checkpoint& checkpoint_;
  Status status_;
};

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
  return w;
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
    const std::string bias = fmt::format("layers.{}.self_attn.q_proj.bias", layer);
    if (!config.attention_bias && reader.Has(bias)) {
      return InvalidArgumentError(
          fmt::format("{}: tensor {} is present, but the config says attention_bias false",
                      checkpoint->path(), bias));
    }
    weights.layers.push_back(ReadLayer(reader, config, layer));
  }
  const Shape vocabulary = {config.vocab_size, config.hidden_size};
  weights.embed = reader.Read("embed_tokens.weight", vocabulary);
  const bool tied = config.tie_word_embeddings && !reader.Has("lm_head.weight");
  weights.lm_head = tied ? weights.embed : reader.Read("lm_head.weight", vocabulary);
  DM_RETURN_IF_ERROR(reader.status());
  weights.checkpoint = std::move(checkpoint);
  return weights;
}

}  // namespace draftmark::reference
