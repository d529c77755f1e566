#include "src/reference/random_drafter.h"

#include <cmath>

#include "src/base/counter_hash.h"

namespace draftmark::reference {
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
  const auto matrix = [&](std::uint64_t rows, std::uint64_t cols) {
    // Keeps activations near 1: the variance of a uniform value is scale^2 / 3.
    const double scale = std::sqrt(3.0 / static_cast<double>(cols));
    return Bf16Matrix(rows, cols, RandomBf16(++seed, rows * cols, scale));
  };
  const auto norm = [&](std::uint64_t width) {
    std::vector<BFloat16> values = RandomBf16(++seed, width, 0.5);
    for (BFloat16& value : values) value = BFloat16::FromDouble(1 + value.ToDouble());
    return Bf16Matrix(1, width, std::move(values));
  };
  auto weights = std::make_shared<DrafterWeights>();
  weights->fc = matrix(c.hidden_size, c.tap_width());
  weights->hidden_norm = norm(c.hidden_size);
  weights->norm = norm(c.hidden_size);
  for (std::uint64_t layer = 0; layer < c.num_hidden_layers; ++layer) {
    LayerWeights w;
    w.input_layernorm = norm(c.hidden_size);
    w.post_attention_layernorm = norm(c.hidden_size);
    w.q_proj = matrix(c.q_dim(), c.hidden_size);
    w.k_proj = matrix(c.kv_dim(), c.hidden_size);
    w.v_proj = matrix(c.kv_dim(), c.hidden_size);
    w.o_proj = matrix(c.hidden_size, c.q_dim());
    if (c.attention_bias) {
      w.q_bias = matrix(1, c.q_dim());
      w.k_bias = matrix(1, c.kv_dim());
      w.v_bias = matrix(1, c.kv_dim());
      w.o_bias = matrix(1, c.hidden_size);
    }
    w.q_norm = norm(c.head_dim);
    w.k_norm = norm(c.head_dim);
    w.gate_proj = matrix(c.intermediate_size, c.hidden_size);
    w.up_proj = matrix(c.intermediate_size, c.hidden_size);
    w.down_proj = matrix(c.hidden_size, c.intermediate_size);
    weights->layers.push_back(std::move(w));
  }
  weights->embed = matrix(c.vocab_size, c.hidden_size);
  weights->lm_head = matrix(c.vocab_size, c.hidden_size);
  return weights;
}

}  // namespace draftmark::reference
