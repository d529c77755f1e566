#include "src/weights/random_drafter.h"

#include <cmath>
#include <utility>

#include "src/base/counter_hash.h"

namespace draftmark {
namespace {

// Each matrix from a seed of its own.
class Maker {
 public:
  explicit Maker(std::uint64_t seed) : seed_(seed) {}
  Bf16Matrix Matrix(std::uint64_t rows, std::uint64_t cols) {
    // Keeps activations near 1: the variance of a uniform value is scale^2 / 3.
    const double scale = std::sqrt(3.0 / static_cast<double>(cols));
    return Bf16Matrix(rows, cols, RandomBf16(++seed_, rows * cols, scale));
  }
  Bf16Matrix Norm(std::uint64_t width) {
    std::vector<BFloat16> values = RandomBf16(++seed_, width, 0.5);
    for (BFloat16& value : values) value = BFloat16::FromDouble(1 + value.ToDouble());
    return Bf16Matrix(1, width, std::move(values));
  }

 private:
  std::uint64_t seed_;
};

ConvWeights RandomConv(const DrafterConfig& c, Maker& make) {
  const std::uint64_t rows = 2 * c.conv_kernel_size;
  ConvWeights w;
  w.base_kernel = make.Matrix(rows, c.hidden_size);
  w.kernel_projection = make.Matrix(rows * (c.hidden_size / c.conv_group_size), c.hidden_size);
  return w;
}

LayerWeights RandomLayer(const DrafterConfig& c, Maker& make) {
  LayerWeights w;
  w.input_layernorm = make.Norm(c.hidden_size);
  w.post_attention_layernorm = make.Norm(c.hidden_size);
  w.q_proj = make.Matrix(c.q_dim(), c.hidden_size);
  w.k_proj = make.Matrix(c.kv_dim(), c.hidden_size);
  w.v_proj = make.Matrix(c.kv_dim(), c.hidden_size);
  w.o_proj = make.Matrix(c.hidden_size, c.q_dim());
  if (c.attention_bias) {
    w.q_bias = make.Matrix(1, c.q_dim());
    w.k_bias = make.Matrix(1, c.kv_dim());
    w.v_bias = make.Matrix(1, c.kv_dim());
    w.o_bias = make.Matrix(1, c.hidden_size);
  }
  w.q_norm = make.Norm(c.head_dim);
  w.k_norm = make.Norm(c.head_dim);
  w.gate_proj = make.Matrix(c.intermediate_size, c.hidden_size);
  w.up_proj = make.Matrix(c.intermediate_size, c.hidden_size);
  w.down_proj = make.Matrix(c.hidden_size, c.intermediate_size);
  if (c.conv_kernel_size > 0) {
    w.attention_conv = RandomConv(c, make);
    w.mlp_conv = RandomConv(c, make);
  }
  return w;
}

MarkovWeights RandomMarkov(const DrafterConfig& c, Maker& make) {
  const std::uint64_t rank = c.markov_rank;
  MarkovWeights w;
  w.w1 = make.Matrix(c.vocab_size, rank);
  w.w2 = make.Matrix(c.vocab_size, rank);
  if (c.markov_head_type == "gated") {
    w.type = MarkovType::kGated;
    w.gate_proj = make.Matrix(rank, c.hidden_size + rank);
    w.gate_bias = make.Matrix(1, rank);
  } else if (c.markov_head_type == "rnn") {
    w.type = MarkovType::kRnn;
    w.joint_proj = make.Matrix(3 * rank, 2 * rank + c.hidden_size);
    w.joint_bias = make.Matrix(1, 3 * rank);
  }
  return w;
}

}  // namespace

std::vector<BFloat16> RandomBf16(std::uint64_t seed, std::size_t count, double scale) {
  std::vector<BFloat16> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = BFloat16::FromDouble((2 * UniformAt(seed, i) - 1) * scale);
  }
  return values;
}

DrafterConfig SmallDrafterConfig() {
  DrafterConfig c;
  c.hidden_size = 48;
  c.num_hidden_layers = 2;
  c.num_attention_heads = 6;
  c.num_key_value_heads = 2;
  c.head_dim = 16;
  c.intermediate_size = 80;
  c.vocab_size = 101;
  c.block_size = 8;
  c.target_layer_ids = {1, 4, 7};
  c.target_hidden_size = 48;
  c.mask_token_id = 100;
  c.rope.theta = 10000;
  c.rms_norm_eps = 1e-5;
  c.layer_types = {LayerType::kSlidingAttention, LayerType::kFullAttention};
  c.layer_causal = {true, false};
  c.sliding_window = 9;
  return c;
}

std::shared_ptr<const DrafterWeights> RandomWeights(const DrafterConfig& c, std::uint64_t seed) {
  Maker make(seed);
  auto weights = std::make_shared<DrafterWeights>();
  weights->fc = make.Matrix(c.hidden_size, c.tap_width());
  weights->hidden_norm = make.Norm(c.hidden_size);
  weights->norm = make.Norm(c.hidden_size);
  for (std::uint64_t layer = 0; layer < c.num_hidden_layers; ++layer)
    weights->layers.push_back(RandomLayer(c, make));
  weights->embed = make.Matrix(c.vocab_size, c.hidden_size);
  weights->lm_head = make.Matrix(c.vocab_size, c.hidden_size);
  if (c.conv_kernel_size > 0) {
    weights->selector.predecessor = make.Matrix(c.vocab_size, c.selector_rank);
    weights->selector.successor = make.Matrix(c.vocab_size, c.selector_rank);
    weights->selector.hidden_projection = make.Matrix(c.selector_rank, c.hidden_size);
  }
  if (c.markov_rank > 0) weights->markov = RandomMarkov(c, make);
  if (c.confidence_head) {
    const std::uint64_t embedding = c.confidence_head_with_markov ? c.markov_rank : 0;
    weights->confidence.proj = make.Matrix(1, c.hidden_size + embedding);
    weights->confidence.bias = make.Matrix(1, 1);
  }
  return weights;
}

}  // namespace draftmark
