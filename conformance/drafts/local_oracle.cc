#include "conformance/drafts/local_oracle.h"

#include <algorithm>
#include <cmath>

#include "src/backend/stages.h"
#include "src/compare/tolerance.h"
#include "src/reference/rope.h"
#include "src/tensor/bfloat16.h"

namespace draftmark {

LocalOracle::LocalOracle(const DrafterCase& drafter_case, const reference::DrafterWeights& weights,
                         Precision precision, Accumulation accumulation)
    : case_(drafter_case),
      config_(drafter_case.config()),
      weights_(weights),
      precision_(precision),
      accumulation_(accumulation),
      context_(config_.num_hidden_layers) {
  // The table is shared with the reference: its formula has tests of its own against hand-worked
  // values.
  const StatusOr<reference::RopeTable> table =
      reference::MakeRopeTable(config_.rope, config_.head_dim);
  if (!table.ok()) return;  // the session refuses such a config with its reason
  frequencies_ = table->frequency;
  amplitude_ = table->amplitude;
  partner_ = table->partner;
}

namespace {

// The class of one stage under FP32 accumulation. A stage behind an intermediate result that is rounded but not shown (q
// and k before their norms, the gate of the MLP) inherits its rare other neighbour: one more spacing, or a share of the sum.
ErrorModel ModelOf(const DrafterConfig& c, std::string_view stage) {
  const auto is = [&](std::string_view name) {
    return stage == name || stage.ends_with("." + std::string(name));
  };
  if (is("attn_out")) return AttentionModel(ProbabilityType::kF32);
  if (is("fc")) return SingleRound(c.tap_width());
  if (is("o_proj")) return SingleRound(c.q_dim());
  if (is("k_new") || is("prepare") || is("finish"))
    return SingleRound(std::max<std::uint64_t>(2, c.conv_kernel_size));
  if (is("v_new") || is("dynamic") || is("logits") || is("hidden_projection"))
    return SingleRound(c.hidden_size);
  ErrorModel model = SingleRound();
  if (is("q_norm") || is("k_norm")) model.roundings = 2;
  if (is("mlp"))
    model.accumulation = SingleRound(c.intermediate_size).accumulation + std::ldexp(1, -12);
  return model;
}

// Relative to the sum of magnitudes: some thousand additions in float64 stay far below it, and it is far below any BF16
// step.
constexpr double kFloat64Share = 1e-12;

}  // namespace

void LocalOracle::Allow(const std::string& stage, LocalStage& local) const {
  if (accumulation_ == Accumulation::kFloat32) {
    const double largest = *std::max_element(local.magnitude.begin(), local.magnitude.end());
    local.allowed = Bounds(ModelOf(config_, stage), local.oracle, local.magnitude, largest);
    return;
  }
  for (std::size_t i = 0; i < local.oracle.size(); ++i) {
    local.allowed.push_back(0.5 * Spacing(local.oracle[i], UlpUnit::kBf16) +
                            kFloat64Share * local.magnitude[i]);
  }
}

double LocalOracle::Round(double value) const {
  return precision_ == Precision::kBf16 ? BFloat16::FromDouble(value).ToDouble() : value;
}

std::vector<double> LocalOracle::Rounded(std::vector<double> values) const {
  for (double& value : values) value = Round(value);
  return values;
}

std::vector<double> LocalOracle::Tapped(const std::string& stage) const {
  const auto found = tapped_->find(stage);
  return found == tapped_->end() ? std::vector<double>() : found->second.values;
}

LocalStage LocalOracle::Linear(std::span<const double> x, const reference::Bf16Matrix& weight,
                               std::span<const BFloat16> bias) const {
  const std::size_t width = weight.cols();
  LocalStage result;
  for (std::size_t row = 0; row < x.size() / width; ++row) {
    for (std::size_t o = 0; o < weight.rows(); ++o) {
      double sum = bias.empty() ? 0 : bias[o].ToDouble();
      double magnitude = std::abs(sum);
      for (std::size_t i = 0; i < width; ++i) {
        const double term = x[row * width + i] * weight.row(o)[i].ToDouble();
        sum += term;
        magnitude += std::abs(term);
      }
      result.oracle.push_back(sum);
      result.magnitude.push_back(magnitude);
    }
  }
  return result;
}

LocalStage LocalOracle::RmsNorm(std::span<const double> x, std::size_t width,
                                const reference::Bf16Matrix& weight) const {
  LocalStage result;
  for (std::size_t begin = 0; begin < x.size(); begin += width) {
    double squares = 0;
    for (std::size_t i = 0; i < width; ++i) squares += x[begin + i] * x[begin + i];
    const double root = std::sqrt(squares / static_cast<double>(width) + config_.rms_norm_eps);
    for (std::size_t i = 0; i < width; ++i) {
      result.oracle.push_back(x[begin + i] / root * weight.values()[i].ToDouble());
      result.magnitude.push_back(std::abs(result.oracle.back()));
    }
  }
  return result;
}

void LocalOracle::Rope(std::span<double> heads, std::int64_t position,
                       std::vector<double>* magnitude) const {
  for (std::size_t head = 0; head < heads.size(); head += config_.head_dim) {
    for (std::size_t i = 0; i < frequencies_.size(); ++i) {
      // FP32 table and FP32 product are part of the BF16 definition (section 4.3).
      const double angle =
          precision_ == Precision::kBf16
              ? double{static_cast<float>(position) * static_cast<float>(frequencies_[i])}
              : static_cast<double>(position) * frequencies_[i];
      const double a = heads[head + i];
      const double b = heads[head + i + partner_];
      heads[head + i] = amplitude_ * (a * std::cos(angle) - b * std::sin(angle));
      heads[head + i + partner_] = amplitude_ * (b * std::cos(angle) + a * std::sin(angle));
      if (magnitude == nullptr) continue;
      (*magnitude)[head + i] = (*magnitude)[head + i + partner_] =
          amplitude_ * (std::abs(a) + std::abs(b));
    }
  }
}

void LocalOracle::Context(std::size_t step) {
  const CaseStep& input = case_.steps()[step];
  std::vector<double> taps;
  for (const BFloat16 value : input.target_hidden) taps.push_back(value.ToDouble());
  local_["fc"] = Linear(taps, weights_.fc, {});
  if (const std::vector<double> fc = Tapped("fc"); !fc.empty()) {
    local_["hidden_norm"] = RmsNorm(fc, config_.hidden_size, weights_.hidden_norm);
  }
  // The cached rows follow the call: dropped in front, appended behind (with what the run gives
  // later in this step).
  const std::size_t kv_dim = config_.kv_dim();
  const auto drop = [](auto& values, std::size_t count) {
    values.erase(values.begin(),
                 values.begin() + static_cast<std::ptrdiff_t>(std::min(count, values.size())));
  };
  drop(context_positions_, input.drop_front_rows);
  for (LayerContext& layer : context_) {
    drop(layer.keys, input.drop_front_rows * kv_dim);
    drop(layer.values, input.drop_front_rows * kv_dim);
  }
  const auto rows = static_cast<std::int64_t>(input.new_context_rows);
  for (std::int64_t i = 0; i < rows; ++i) context_positions_.push_back(input.start - rows + i);
}

void LocalOracle::QueriesKeysValues(std::size_t step, std::uint64_t layer,
                                    const std::vector<double>& input) {
  const reference::LayerWeights& w = weights_.layers[layer];
  const CaseStep& call = case_.steps()[step];
  const std::size_t d = config_.head_dim;
  const std::vector<double> q = Rounded(Linear(input, w.q_proj, w.q_bias.values()).oracle);
  local_[LayerStage(layer, "q_norm")] = RmsNorm(q, d, w.q_norm);
  const std::vector<double> hidden = Tapped("hidden_norm");
  if (hidden.size() != call.new_context_rows * config_.hidden_size) return;
  // Context rows, then block rows: the same projections of different inputs.
  std::vector<double> both = hidden;
  both.insert(both.end(), input.begin(), input.end());
  local_[LayerStage(layer, "v_new")] = Linear(both, w.v_proj, w.v_bias.values());
  local_[LayerStage(layer, "k_norm")] =
      RmsNorm(Rounded(Linear(both, w.k_proj, w.k_bias.values()).oracle), d, w.k_norm);
  LocalStage rotated;
  rotated.oracle = Tapped(LayerStage(layer, "k_norm"));
  if (rotated.oracle.empty()) return;
  for (const double value : rotated.oracle) rotated.magnitude.push_back(std::abs(value));
  const std::size_t kv_dim = config_.kv_dim();
  const std::int64_t first = call.start - static_cast<std::int64_t>(call.new_context_rows);
  for (std::size_t row = 0; row < rotated.oracle.size() / kv_dim; ++row) {
    std::vector<double> magnitude(kv_dim);
    for (std::size_t i = 0; i < kv_dim; ++i) magnitude[i] = rotated.magnitude[row * kv_dim + i];
    Rope(std::span(rotated.oracle).subspan(row * kv_dim, kv_dim),
         first + static_cast<std::int64_t>(row), &magnitude);
    std::copy(magnitude.begin(), magnitude.end(),
              rotated.magnitude.begin() + static_cast<std::ptrdiff_t>(row * kv_dim));
  }
  local_[LayerStage(layer, "k_new")] = std::move(rotated);
}

void LocalOracle::Attention(std::size_t step, std::uint64_t layer) {
  const CaseStep& call = case_.steps()[step];
  const std::size_t rows = call.block_tokens.size();
  const std::size_t d = config_.head_dim;
  const std::size_t kv_dim = config_.kv_dim();
  const std::size_t q_dim = config_.q_dim();
  LayerContext& cached = context_[layer];
  const std::vector<double> keys = Tapped(LayerStage(layer, "k_new"));
  const std::vector<double> values = Tapped(LayerStage(layer, "v_new"));
  std::vector<double> q = Tapped(LayerStage(layer, "q_norm"));
  cached.keys.insert(cached.keys.end(), keys.begin(), keys.end());
  cached.values.insert(cached.values.end(), values.begin(), values.end());
  const std::size_t visible = context_positions_.size() + rows;
  const bool known =
      cached.keys.size() == visible * kv_dim && cached.values.size() == visible * kv_dim;
  LocalStage out;
  for (std::size_t row = 0; known && row < q.size() / q_dim; ++row) {
    const std::int64_t position = call.start + static_cast<std::int64_t>(row);
    Rope(std::span(q).subspan(row * q_dim, q_dim), position, nullptr);
    for (std::size_t head = 0; head < config_.num_attention_heads; ++head) {
      const std::size_t at = head / (config_.num_attention_heads / config_.num_key_value_heads) * d;
      std::vector<double> weight(visible, 0.0);
      double largest = -INFINITY;
      std::vector<double> score(visible, -INFINITY);
      for (std::size_t m = 0; m < visible; ++m) {
        const std::int64_t key_position =
            m < context_positions_.size()
                ? context_positions_[m]
                : call.start + static_cast<std::int64_t>(m - context_positions_.size());
        const std::int64_t distance = position - key_position;
        const bool sliding = config_.layer_types[layer] == LayerType::kSlidingAttention;
        const auto window = static_cast<std::int64_t>(
            std::min<std::uint64_t>(config_.sliding_window.value_or(0), INT64_MAX));
        if (config_.layer_causal[layer] && distance < 0) continue;
        if (sliding && (distance >= window || distance <= -window)) continue;
        double dot = 0;
        for (std::size_t e = 0; e < d; ++e) {
          dot += Round(q[row * q_dim + head * d + e]) * cached.keys[m * kv_dim + at + e];
        }
        score[m] = dot / std::sqrt(static_cast<double>(d));
        largest = std::max(largest, score[m]);
      }
      const std::span<const BFloat16> sinks = weights_.layers[layer].sinks.values();
      if (!sinks.empty()) largest = std::max(largest, sinks[head].ToDouble());
      double total = sinks.empty() ? 0 : std::exp(sinks[head].ToDouble() - largest);
      for (std::size_t m = 0; m < visible; ++m) total += weight[m] = std::exp(score[m] - largest);
      for (std::size_t e = 0; e < d; ++e) {
        double sum = 0;
        double magnitude = 0;
        for (std::size_t m = 0; m < visible; ++m) {
          const double term = weight[m] / total * cached.values[m * kv_dim + at + e];
          sum += term;
          magnitude += std::abs(term);
        }
        out.oracle.push_back(sum);
        out.magnitude.push_back(magnitude);
      }
    }
  }
  if (!out.oracle.empty()) local_[LayerStage(layer, "attn_out")] = std::move(out);
  // The block's own rows do not outlive the step.
  for (std::vector<double>* rows_of : {&cached.keys, &cached.values}) {
    if (known) rows_of->resize((visible - rows) * kv_dim);
  }
}

void LocalOracle::Dynamic(const std::string& site, const reference::ConvWeights& conv,
                          const std::vector<double>& normed) {
  local_[site + ".dynamic"] = Linear(normed, conv.kernel_projection, {});
  Convolve(site + ".prepare", site, conv, 0, normed);
}

void LocalOracle::Convolve(const std::string& stage, const std::string& site,
                           const reference::ConvWeights& conv, std::size_t side,
                           const std::vector<double>& in) {
  const std::vector<double> dynamic = Tapped(site + ".dynamic");
  const std::size_t h = config_.hidden_size;
  const std::size_t taps = config_.conv_kernel_size;
  const std::size_t groups = h / config_.conv_group_size;
  if (dynamic.size() != in.size() / h * 2 * taps * groups || in.empty()) return;
  LocalStage out;
  for (std::size_t t = 0; t < in.size() / h; ++t) {
    for (std::size_t c = 0; c < h; ++c) {
      double sum = 0;
      double magnitude = 0;
      for (std::size_t o = 0; o < taps && o <= t; ++o) {
        const double base = conv.base_kernel.values()[(side * taps + o) * h + c].ToDouble();
        const double extra =
            dynamic[((t * 2 + side) * taps + o) * groups + c / config_.conv_group_size];
        sum += (base + extra) * in[(t - o) * h + c];
        magnitude += (std::abs(base) + std::abs(extra)) * std::abs(in[(t - o) * h + c]);
      }
      out.oracle.push_back(sum);
      out.magnitude.push_back(magnitude);
    }
  }
  local_[stage] = std::move(out);
}

void LocalOracle::Layer(std::size_t step, std::uint64_t layer, std::vector<double>& stream) {
  const reference::LayerWeights& w = weights_.layers[layer];
  const bool conv = config_.conv_kernel_size > 0;
  const auto stage = [&](const char* name) { return LayerStage(layer, name); };
  const auto add = [&](const std::vector<double>& delta) {
    if (delta.size() != stream.size()) return false;
    for (std::size_t i = 0; i < stream.size(); ++i) stream[i] = Round(stream[i] + delta[i]);
    return true;
  };
  local_[stage("input_layernorm")] = RmsNorm(stream, config_.hidden_size, w.input_layernorm);
  std::vector<double> input = Tapped(stage("input_layernorm"));
  if (conv) {
    Dynamic(stage("attention_conv"), w.attention_conv, input);
    input = Tapped(stage("attention_conv.prepare"));
  }
  QueriesKeysValues(step, layer, input);
  Attention(step, layer);
  local_[stage("o_proj")] = Linear(Tapped(stage("attn_out")), w.o_proj, w.o_bias.values());
  std::vector<double> delta = Tapped(stage("o_proj"));
  if (conv) {
    Convolve(stage("attention_conv.finish"), stage("attention_conv"), w.attention_conv, 1, delta);
    delta = Tapped(stage("attention_conv.finish"));
  }
  const bool middle = add(delta);
  if (middle) {
    local_[stage("post_attention_layernorm")] =
        RmsNorm(stream, config_.hidden_size, w.post_attention_layernorm);
  }
  input = Tapped(stage("post_attention_layernorm"));
  if (conv) {
    Dynamic(stage("mlp_conv"), w.mlp_conv, input);
    input = Tapped(stage("mlp_conv.prepare"));
  }
  std::vector<double> gate = Rounded(Linear(input, w.gate_proj, {}).oracle);
  const std::vector<double> up = Rounded(Linear(input, w.up_proj, {}).oracle);
  for (std::size_t i = 0; i < gate.size(); ++i)
    gate[i] = Round(gate[i] / (1 + std::exp(-gate[i])) * up[i]);
  local_[stage("mlp")] = Linear(gate, w.down_proj, {});
  delta = Tapped(stage("mlp"));
  if (conv) {
    Convolve(stage("mlp_conv.finish"), stage("mlp_conv"), w.mlp_conv, 1, delta);
    delta = Tapped(stage("mlp_conv.finish"));
  }
  if (middle && delta.size() == stream.size()) {
    LocalStage& output = local_[stage("output")];
    for (std::size_t i = 0; i < stream.size(); ++i) {
      output.oracle.push_back(stream[i] + delta[i]);
      output.magnitude.push_back(std::abs(stream[i]) + std::abs(delta[i]));
    }
  }
  // The next layer starts from what the run itself handed on.
  stream = Tapped(stage("output"));
}

LocalStages LocalOracle::Step(std::size_t step, const TappedStages& tapped) {
  tapped_ = &tapped;
  local_.clear();
  Context(step);
  std::vector<double> stream;
  for (std::size_t j = 0; j < case_.steps()[step].block_tokens.size(); ++j) {
    const bool mask = j > 0 && !weights_.mask_embedding.empty();
    const std::span<const BFloat16> row =
        mask ? weights_.mask_embedding.values()
             : weights_.embed.row(case_.steps()[step].block_tokens[j]);
    for (const BFloat16 value : row)
      stream.push_back(Round(value.ToDouble() * config_.input_embedding_scale));
  }
  for (std::uint64_t layer = 0; layer < config_.num_hidden_layers; ++layer)
    Layer(step, layer, stream);
  local_["norm"] = RmsNorm(stream, config_.hidden_size, weights_.norm);
  LocalStage logits = Linear(Tapped("norm"), weights_.lm_head, {});
  for (std::size_t i = 0; i < logits.oracle.size(); ++i) {
    logits.oracle[i] *= config_.output_multiplier;
    logits.magnitude[i] *= std::abs(config_.output_multiplier);
    if (const double cap = config_.final_logit_softcapping.value_or(0); cap > 0) {
      logits.oracle[i] = cap * std::tanh(logits.oracle[i] /
                                         cap);  // a slope of at most 1: the magnitude stays a bound
    }
  }
  local_["logits"] = std::move(logits);
  if (weights_.selector.present()) {
    LocalStage all = Linear(Tapped("norm"), weights_.selector.hidden_projection, {});
    const std::size_t skipped = config_.row_convention == RowConvention::kInPlace
                                    ? weights_.selector.hidden_projection.rows()
                                    : 0;
    for (std::vector<double>* values : {&all.oracle, &all.magnitude}) {
      values->erase(values->begin(), values->begin() + static_cast<std::ptrdiff_t>(
                                                           std::min(skipped, values->size())));
    }
    local_["selector.hidden_projection"] = std::move(all);
  }
  tapped_ = nullptr;
  // What could not be told from the taps is no oracle.
  std::erase_if(local_, [](const auto& entry) { return entry.second.oracle.empty(); });
  for (auto& [stage, local] : local_) Allow(stage, local);
  return std::move(local_);
}

}  // namespace draftmark
