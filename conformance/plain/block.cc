// The block path: embedding, attention, MLP and convolutions.
#include <algorithm>
#include <cmath>

#include "conformance/plain/state.h"
#include "src/backend/stages.h"

namespace draftmark::plain {

using enum Mistake;

Given Forward::Embedding() const {
  Given stream;
  for (std::size_t j = 0; j < width(); ++j) {
    bool mask = j > 0;
    std::uint32_t token = call().block_tokens[j];
    if (Makes(kAnchorAsMask) && j == 0) {
      mask = true;
      token = call().block_tokens.back();
    }
    const bool vector = mask && !weights_.mask_embedding.empty() && !Makes(kMaskEmbeddingIgnored);
    const double scale = Makes(kEmbedScaleMissing) ? 1 : config_.input_embedding_scale;
    for (const BFloat16 value :
         vector ? weights_.mask_embedding.values() : weights_.embed.row(token)) {
      stream.values.push_back(hook_.Round(value.ToDouble() * scale));
    }
  }
  return stream;
}

Given Forward::Queries(std::uint64_t layer, const Given& input) {
  const LayerWeights& w = weights_.layers[layer];
  const std::size_t d = config_.head_dim;
  const std::size_t q_dim = config_.q_dim();
  Terms q = Linear(input.values, w.q_proj,
                   Makes(kBiasDropped) ? std::span<const BFloat16>() : w.q_bias.values());
  q.values = Rounded(std::move(q.values));
  const auto turn = [&](std::vector<double>& values) {
    for (std::size_t row = 0; row < width(); ++row) {
      if (Makes(kQueryUnrotated)) break;
      rotation_.Turn(std::span(values).subspan(row * q_dim, q_dim), d, BlockPosition(row), nullptr);
    }
    values = Rounded(std::move(values));
  };
  if (Makes(kQkNormAfterRope)) {
    turn(q.values);
    return Emit(LayerStage(layer, "q_norm"), HeadNorm(std::move(q), w.q_norm), input.given);
  }
  Given queries = Emit(LayerStage(layer, "q_norm"), HeadNorm(std::move(q), w.q_norm), input.given);
  turn(queries.values);
  return queries;
}

// Keys with an index from this one on are not read.
std::size_t Forward::KeyLimit(std::uint64_t layer, std::size_t row) {
  const std::size_t context = state().positions.size();
  std::size_t limit = context + width();
  state().visible = limit;
  if (Makes(kStaleKvLength) && Later()) limit = std::min(limit, state().previous_visible);
  if (Makes(kBandZeroArguments))
    limit = std::min(limit, std::max<std::size_t>(states_[0].visible, 1));
  for (const auto& [mistake, tile] :
       {std::pair{kKeyLoopTile16, 16u}, {kKeyLoopTile32, 32u}, {kKeyLoopTile64, 64u}}) {
    if (Makes(mistake) && !config_.layer_causal[layer])
      limit = std::min<std::size_t>(limit, context + (row / tile + 1) * tile);
  }
  return limit;
}

bool Forward::Sees(std::uint64_t layer, std::size_t row, std::size_t key) const {
  const std::vector<std::int64_t>& positions = states_[band_].positions;
  const bool of_context = key < positions.size();
  std::int64_t key_position =
      of_context ? positions[key]
                 : call().start + static_cast<std::int64_t>(key - positions.size());
  if (Makes(kMaskBySlot)) key_position = static_cast<std::int64_t>(key);
  const std::int64_t distance = call().start + static_cast<std::int64_t>(row) - key_position;
  const bool sliding = config_.layer_types[layer] == LayerType::kSlidingAttention;
  bool causal = config_.layer_causal[layer];
  if (Makes(kCausalEverywhere) || (Makes(kSlidingCausal) && sliding)) causal = true;
  if (Makes(kSlidingNotCausal) && sliding) causal = false;
  if (Makes(kFullNotCausal) && !sliding) causal = false;
  if (causal && distance < 0) return false;
  if (!sliding || Makes(kWindowIgnored)) return true;
  auto window = static_cast<std::int64_t>(
      std::min<std::uint64_t>(config_.sliding_window.value_or(0), INT32_MAX));
  if (Makes(kWindowOneMore)) ++window;
  if (Makes(kWindowOneLess)) --window;
  return std::abs(distance) < window;
}

double Forward::ScoreScale() const {
  const auto d = static_cast<double>(config_.head_dim);
  if (Makes(kScaleMissing)) return 1;
  if (Makes(kScaleByWidth)) return 1 / d;
  if (Makes(kScaleOf64)) return 1 / std::sqrt(64.0);
  if (Makes(kScaleOf128)) return 1 / std::sqrt(128.0);
  return 1 / std::sqrt(d);
}

// Row `m` of keys or values: the context, then the block.
const double* Forward::CachedRow(std::uint64_t layer, std::vector<double> Rows::*member,
                                 std::size_t m) const {
  const std::size_t kv_dim = config_.kv_dim();
  const Band& own = states_[band_];
  const std::size_t context = own.positions.size();
  if (m >= context) return &(own.block[layer].*member)[(m - context) * kv_dim];
  if (Makes(kBandZeroContext) && LaterBand()) {
    const Band& first = states_[0];
    const std::size_t rows = first.positions.size();
    if (m < rows) return &(first.context[layer].*member)[m * kv_dim];
    if (m < rows + first.block[layer].keys.size() / kv_dim)
      return &(first.block[layer].*member)[(m - rows) * kv_dim];
  }
  return &(own.context[layer].*member)[m * kv_dim];
}

Given Forward::Attention(std::uint64_t layer, const Given& queries) {
  const std::size_t d = config_.head_dim;
  const std::size_t q_dim = config_.q_dim();
  const std::size_t keys = state().positions.size() + width();
  const double scale = ScoreScale();
  std::span<const BFloat16> sinks = weights_.layers[layer].sinks.values();
  if (Makes(kSinksIgnored)) sinks = {};

  Terms result;
  std::vector<double> weight(keys);
  for (std::size_t row = 0; row < width(); ++row) {
    const std::size_t limit = KeyLimit(layer, row);
    for (std::size_t head = 0; head < config_.num_attention_heads; ++head) {
      std::size_t kv_head = head / (config_.num_attention_heads / config_.num_key_value_heads);
      if (Makes(kGqaModulo)) kv_head = head % config_.num_key_value_heads;
      double largest = sinks.empty() ? -INFINITY : sinks[head].ToDouble();
      for (std::size_t m = 0; m < keys; ++m) {
        weight[m] = -INFINITY;
        if (m >= limit || !Sees(layer, row, m)) continue;
        const double* const key = CachedRow(layer, &Rows::keys, m) + kv_head * d;
        double dot = 0;
        for (std::size_t e = 0; e < d; ++e)
          dot += queries.values[row * q_dim + head * d + e] * key[e];
        largest = std::max(largest, weight[m] = dot * scale);
      }
      double total = sinks.empty() ? 0 : std::exp(sinks[head].ToDouble() - largest);
      for (double& w : weight) total += w = w == -INFINITY ? 0 : std::exp(w - largest);
      const std::size_t begin = result.values.size();
      result.values.resize(begin + d);
      result.magnitude.resize(begin + d);
      for (std::size_t m = 0; m < keys; ++m) {
        if (weight[m] == 0) continue;
        const double* const value = CachedRow(layer, &Rows::values, m) + kv_head * d;
        for (std::size_t e = 0; e < d; ++e) {
          result.values[begin + e] += weight[m] / total * value[e];
          result.magnitude[begin + e] += weight[m] / total * std::abs(value[e]);
        }
      }
    }
  }
  bool local = queries.given && state().block[layer].given && state().context[layer].given;
  if (Makes(kBandZeroContext))
    local = local && states_[0].context[layer].given && states_[0].block[layer].given;
  return Emit(LayerStage(layer, "attn_out"), std::move(result), local);
}

Given Forward::Convolve(const std::string& stage, const ConvWeights& conv, std::size_t side,
                        const Given& in, const Given& dynamic) {
  const std::size_t h = config_.hidden_size;
  const std::size_t taps = config_.conv_kernel_size;
  const std::size_t groups = h / config_.conv_group_size;
  // What lies before row 0: zeros.
  std::vector<double> before;
  if (Makes(kConvCrossesBlocks) && Later()) before = state().conv_row[stage];
  if (Makes(kConvCrossesBands) && LaterBand()) before = states_[band_ - 1].conv_row[stage];
  state().conv_row[stage].assign(in.values.end() - static_cast<std::ptrdiff_t>(h), in.values.end());
  if (Makes(kConvSidesSwapped)) side = 1 - side;
  Terms out;
  for (std::size_t t = 0; t < width(); ++t) {
    for (std::size_t c = 0; c < h; ++c) {
      double sum = 0;
      double magnitude = 0;
      for (std::size_t o = 0; o < taps; ++o) {
        const bool inside = o <= t;
        if (!inside && (before.empty() || o > t + 1)) continue;
        const double value = inside ? in.values[(t - o) * h + c] : before[c];
        const std::size_t tap = Makes(kConvTapsReversed) ? taps - 1 - o : o;
        const std::size_t coefficients = Makes(kConvDynamicOfSource) && inside ? t - o : t;
        const double base = conv.base_kernel.values()[(side * taps + tap) * h + c].ToDouble();
        double extra = dynamic.values[((coefficients * 2 + side) * taps + tap) * groups +
                                      c / config_.conv_group_size];
        if (Makes(kConvNoDynamic)) extra = 0;
        sum += (base + extra) * value;
        magnitude += (std::abs(base) + std::abs(extra)) * std::abs(value);
      }
      out.values.push_back(sum);
      out.magnitude.push_back(magnitude);
    }
  }
  return Emit(stage, std::move(out), in.given && dynamic.given);
}

Given Forward::Mlp(std::uint64_t layer, const Given& input) {
  const LayerWeights& w = weights_.layers[layer];
  std::vector<double> gate = Rounded(Linear(input.values, w.gate_proj).values);
  std::vector<double> up = Rounded(Linear(input.values, w.up_proj).values);
  if (Makes(kGateUpSwapped)) std::swap(gate, up);
  for (std::size_t i = 0; i < gate.size(); ++i) {
    for (const auto& [mistake, limit] : {std::pair{kSwigluClamp10, 10.0}, {kSwigluClamp7, 7.0}}) {
      if (!Makes(mistake)) continue;
      gate[i] = std::min(gate[i], limit);
      up[i] = std::clamp(up[i], -limit, limit);
    }
    double activated = gate[i] * Sigmoid(gate[i]);
    if (Makes(kGelu)) activated = 0.5 * gate[i] * (1 + std::erf(gate[i] / std::sqrt(2.0)));
    gate[i] = hook_.Round(activated * up[i]);
  }
  Terms down = Linear(gate, w.down_proj);
  down.largest = products_.Get(gate, w.down_proj).largest;
  return Emit(LayerStage(layer, "mlp"), std::move(down), input.given);
}

void Forward::Layer(std::uint64_t layer, const Given& hidden, Given& stream) {
  const LayerWeights& w = weights_.layers[layer];
  const std::size_t h = config_.hidden_size;
  const auto stage = [&](const char* name) { return LayerStage(layer, name); };
  const auto dynamic_of = [&](const char* name, const ConvWeights& conv, const Given& normed) {
    return Emit(stage(name), Linear(normed.values, conv.kernel_projection), normed.given);
  };
  const auto sum_of = [&](const Given& residual, const Given& normed, const Given& delta) {
    const Given& from = Makes(kResidualAfterNorm) ? normed : residual;
    Terms sum;
    for (std::size_t i = 0; i < delta.values.size(); ++i) {
      sum.values.push_back(from.values[i] + delta.values[i]);
      sum.magnitude.push_back(std::abs(from.values[i]) + std::abs(delta.values[i]));
    }
    return sum;
  };
  const bool conv = config_.conv_kernel_size > 0;

  const Given n1 =
      Emit(stage("input_layernorm"), Norm(stream.values, h, w.input_layernorm), stream.given);
  Given dynamic;
  Given z = n1;
  if (conv) {
    dynamic = dynamic_of("attention_conv.dynamic", w.attention_conv, n1);
    z = Convolve(stage("attention_conv.prepare"), w.attention_conv, 0, n1, dynamic);
  }
  const Given queries = Queries(layer, z);
  KeysAndValues(layer, hidden, z);
  Given a = Attention(layer, queries);
  a = Emit(stage("o_proj"),
           Linear(a.values, w.o_proj,
                  Makes(kBiasDropped) ? std::span<const BFloat16>() : w.o_bias.values()),
           a.given);
  if (conv) a = Convolve(stage("attention_conv.finish"), w.attention_conv, 1, a, dynamic);
  // The sum in the middle of the layer is no stage: what cancels in it shows in the stages after
  // it.
  const Terms middle = sum_of(stream, n1, a);
  stream = {Rounded(middle.values), stream.given && a.given};
  Terms normed = Norm(stream.values, h, w.post_attention_layernorm, middle.magnitude);
  const Given n2 = Emit(stage("post_attention_layernorm"), std::move(normed), stream.given);
  z = n2;
  if (conv) {
    const Given own = dynamic_of("mlp_conv.dynamic", w.mlp_conv, n2);
    z = Convolve(stage("mlp_conv.prepare"), w.mlp_conv, 0, n2, own);
    if (!Makes(kConvOtherDynamic)) dynamic = own;
  }
  Given m = Mlp(layer, z);
  if (conv) m = Convolve(stage("mlp_conv.finish"), w.mlp_conv, 1, m, dynamic);
  Terms sum = sum_of(stream, n2, m);
  for (std::size_t i = 0; i < sum.values.size(); ++i) sum.magnitude[i] += middle.magnitude[i];
  stream = Emit(stage("output"), std::move(sum), stream.given && m.given);
}

}  // namespace draftmark::plain
