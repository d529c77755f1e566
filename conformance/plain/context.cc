// The context path: taps to cached keys and values. Keys and values of the block's rows come from
// here too, since the stages show both together.
#include <algorithm>
#include <cmath>

#include "conformance/plain/state.h"
#include "src/backend/stages.h"

namespace draftmark::plain {

using enum Mistake;

void Forward::DropFront() {
  const std::size_t kv_dim = config_.kv_dim();
  const std::size_t dropped = call().drop_front_rows;
  std::vector<std::int64_t>& positions = state().positions;
  positions.erase(positions.begin(), positions.begin() + static_cast<std::ptrdiff_t>(dropped));
  for (Rows& layer : state().context) {
    for (std::vector<double>* values : {&layer.keys, &layer.values}) {
      if (Makes(kSlideNotRewritten)) {
        values->resize(values->size() - dropped * kv_dim);
        continue;
      }
      values->erase(values->begin(),
                    values->begin() + static_cast<std::ptrdiff_t>(dropped * kv_dim));
    }
  }
}

Given Forward::ContextRows() {
  const std::size_t blocks = config_.target_layer_ids.size();
  const std::size_t block = config_.target_hidden_size;
  std::vector<double> taps;
  for (std::size_t row = 0; row < call().new_context_rows; ++row) {
    for (std::size_t b = 0; b < blocks; ++b) {
      std::size_t from = b;
      if (Makes(kTapsReversed)) from = blocks - 1 - b;
      if (Makes(kTapsRotated)) from = (b + blocks - 1) % blocks;
      for (std::size_t i = 0; i < block; ++i) {
        taps.push_back(call().target_hidden[(row * blocks + from) * block + i].ToDouble());
      }
    }
  }
  const Given fc = Emit("fc", Linear(taps, weights_.fc), true);
  if (Makes(kHiddenNormMissing)) {
    Terms same{fc.values, {}};
    for (const double value : fc.values) same.magnitude.push_back(std::abs(value));
    return Emit("hidden_norm", std::move(same), fc.given);
  }
  return Emit("hidden_norm", Norm(fc.values, config_.hidden_size, weights_.hidden_norm), fc.given);
}

// What the context rows of one layer are projected from: hidden_norm as it is.
std::vector<double> Forward::ContextInput(std::uint64_t layer, const Given& hidden) {
  if (Makes(kContextInputNorm)) {
    return Rounded(
        Norm(hidden.values, config_.hidden_size, weights_.layers[layer].input_layernorm).values);
  }
  if (!Makes(kContextConv)) return hidden.values;
  const std::size_t h = config_.hidden_size;
  const std::size_t taps = config_.conv_kernel_size;
  const std::size_t groups = h / config_.conv_group_size;
  const ConvWeights& conv = weights_.layers[layer].attention_conv;
  const std::vector<double> dynamic = Rounded(Linear(hidden.values, conv.kernel_projection).values);
  std::vector<double> out(hidden.values.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t o = 0; o < taps && o <= i / h; ++o) {
      const double kernel =
          conv.base_kernel.values()[o * h + i % h].ToDouble() +
          dynamic[(i / h * 2 * taps + o) * groups + i % h / config_.conv_group_size];
      out[i] += kernel * hidden.values[i - o * h];
    }
  }
  return Rounded(std::move(out));
}

Terms Forward::ContextProjection(std::uint64_t layer, std::span<const double> input, bool key) {
  // Row blocks of the fused projection are K_0, V_0, K_1, V_1, ...
  std::uint64_t block = 2 * layer + (key ? 0 : 1);
  if (Makes(kKvSwapped)) block = 2 * layer + (key ? 1 : 0);
  if (Makes(kKvGrouped)) block = key ? layer : config_.num_hidden_layers + layer;
  const LayerWeights& w = weights_.layers[block / 2];
  const std::span<const BFloat16> bias = block % 2 == 0 ? w.k_bias.values() : w.v_bias.values();
  Terms result = Linear(input, block % 2 == 0 ? w.k_proj : w.v_proj,
                        Makes(kBiasDropped) ? std::span<const BFloat16>() : bias);
  if (Makes(kContextConv)) {
    // A convolution that is no stage has roundings of its own, some five units (section 10, T3).
    for (double& magnitude : result.magnitude) magnitude *= 3;
  }
  return result;
}

std::int64_t Forward::ContextPosition(std::size_t row) const {
  const auto rows = static_cast<std::int64_t>(call().new_context_rows);
  const std::size_t before = states_[band_].positions.size() - call().new_context_rows;
  if (Makes(kContextPositionFromSlot)) return static_cast<std::int64_t>(before + row);
  const std::int64_t position = call().start - rows + static_cast<std::int64_t>(row);
  if (Makes(kContextPositionHigh)) return position + 1;
  if (Makes(kContextPositionLow)) return position - 1;
  return position;
}

std::int64_t Forward::BlockPosition(std::size_t row) const {
  std::int64_t first = call().start;
  if (Makes(kBlockPositionFromSlot))
    first = static_cast<std::int64_t>(states_[band_].positions.size());
  if (Makes(kBlockPositionHigh)) ++first;
  if (Makes(kBlockPositionLow)) --first;
  if (Makes(kBlockPositionStale) && Later()) first = states_[band_].previous_start;
  if (Makes(kBandZeroPositions)) first = CallOfBandZero().start;
  return first + static_cast<std::int64_t>(row);
}

namespace {

void Append(Terms& terms, const Terms& more) {
  terms.values.insert(terms.values.end(), more.values.begin(), more.values.end());
  terms.magnitude.insert(terms.magnitude.end(), more.magnitude.begin(), more.magnitude.end());
}

}  // namespace

void Forward::KeysAndValues(std::uint64_t layer, const Given& hidden, const Given& input) {
  const LayerWeights& w = weights_.layers[layer];
  const std::size_t d = config_.head_dim;
  const std::size_t kv_dim = config_.kv_dim();
  const std::size_t context_rows = call().new_context_rows;
  const bool bias = !Makes(kBiasDropped);
  const bool local = hidden.given && input.given;
  const std::vector<double> context = ContextInput(layer, hidden);
  // Context rows, then block rows.
  Terms k = ContextProjection(layer, context, true);
  Append(k, Linear(input.values, w.k_proj, bias ? w.k_bias.values() : std::span<const BFloat16>()));
  Terms v = ContextProjection(layer, context, false);
  Append(v, Linear(input.values, w.v_proj, bias ? w.v_bias.values() : std::span<const BFloat16>()));

  const auto turn = [&](Terms& terms, bool key) {
    for (std::size_t row = 0; row < terms.values.size() / kv_dim; ++row) {
      const bool of_context = row < context_rows;
      if (key && of_context && Makes(kContextUnrotated)) continue;
      rotation_.Turn(std::span(terms.values).subspan(row * kv_dim, kv_dim), d,
                     of_context ? ContextPosition(row) : BlockPosition(row - context_rows),
                     terms.magnitude.data() + row * kv_dim);
    }
  };
  k.values = Rounded(std::move(k.values));
  if (Makes(kQkNormAfterRope)) {
    turn(k, true);
    k.values = Rounded(std::move(k.values));
  }
  Given k_norm = Emit(LayerStage(layer, "k_norm"), HeadNorm(std::move(k), w.k_norm), local);
  Terms rotated{k_norm.values, {}};
  for (const double value : k_norm.values) rotated.magnitude.push_back(std::abs(value));
  if (!Makes(kQkNormAfterRope)) turn(rotated, true);
  Given keys = Emit(LayerStage(layer, "k_new"), std::move(rotated), k_norm.given);

  // V is neither normed nor rotated.
  if (Makes(kValueNormed)) v = Norm(Rounded(std::move(v.values)), d, w.k_norm);
  if (Makes(kValueRotated)) {
    v.values = Rounded(std::move(v.values));
    turn(v, false);
  }
  Given values = Emit(LayerStage(layer, "v_new"), std::move(v), local);

  Rows& cached = state().context[layer];
  Rows& block = state().block[layer];
  const auto middle = static_cast<std::ptrdiff_t>(context_rows * kv_dim);
  cached.keys.insert(cached.keys.end(), keys.values.begin(), keys.values.begin() + middle);
  cached.values.insert(cached.values.end(), values.values.begin(), values.values.begin() + middle);
  block.keys.assign(keys.values.begin() + middle, keys.values.end());
  block.values.assign(values.values.begin() + middle, values.values.end());
  block.given = keys.given && values.given;
  cached.given = cached.given && (context_rows == 0 || block.given);
}

void Forward::FinishStep() {
  state().previous_start = call().start;
  state().previous_visible = state().visible;
  if (!Makes(kStaleBlockRows)) return;  // the block's own rows do not outlive the step
  for (std::size_t l = 0; l < state().context.size(); ++l) {
    Rows& cached = state().context[l];
    const Rows& block = state().block[l];
    cached.keys.insert(cached.keys.end(), block.keys.begin(), block.keys.end());
    cached.values.insert(cached.values.end(), block.values.begin(), block.values.end());
  }
  for (std::size_t j = 0; j < width(); ++j) state().positions.push_back(BlockPosition(j));
}

}  // namespace draftmark::plain
