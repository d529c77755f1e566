#include "conformance/plain/formulas.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace draftmark::plain {

Terms RmsNorm(std::span<const double> x, std::span<const double> x_magnitude, std::size_t width,
              std::span<const BFloat16> weight, double epsilon, double weight_offset) {
  Terms result;
  result.values.reserve(x.size());
  for (std::size_t begin = 0; begin < x.size(); begin += width) {
    double squares = 0;
    for (std::size_t i = 0; i < width; ++i) squares += x[begin + i] * x[begin + i];
    const double scale = 1 / std::sqrt(squares / static_cast<double>(width) + epsilon);
    for (std::size_t i = 0; i < width; ++i) {
      const double w = weight.empty() ? 1 : weight[i].ToDouble() + weight_offset;
      const double magnitude =
          x_magnitude.empty() ? std::abs(x[begin + i]) : x_magnitude[begin + i];
      result.values.push_back(x[begin + i] * scale * w);
      result.magnitude.push_back(magnitude * scale * std::abs(w));
    }
  }
  return result;
}

void Rotation::Turn(std::span<double> heads, std::size_t head_dim, std::int64_t position,
                    double* magnitude) const {
  for (std::size_t head = 0; head < heads.size(); head += head_dim) {
    for (const Pair& pair : pairs) {
      const auto p = static_cast<double>(position);
      const double angle = float32_angles
                               ? double{static_cast<float>(p) * static_cast<float>(pair.frequency)}
                               : p * pair.frequency;
      const double cosine = amplitude * std::cos(angle);
      const double sine = amplitude * std::sin(angle) * direction;
      double& a = heads[head + pair.first];
      double& b = heads[head + pair.second];
      if (magnitude != nullptr) {
        magnitude[head + pair.first] = magnitude[head + pair.second] =
            amplitude * (std::abs(a) + std::abs(b));
      }
      const double turned = a * cosine - b * sine;
      b = b * cosine + a * sine;
      a = turned;
    }
  }
}

namespace {

struct YarnParameters {
  double factor, original, beta_fast, beta_slow;
  bool truncate;
};

double PlainAmplitude(double factor) { return 1 + 0.1 * std::log(factor); }

double Amplitude(const RopeConfig& rope) {
  if (rope.attention_factor) return *rope.attention_factor;
  if (rope.type != "yarn") return 1;
  if (!rope.mscale || !rope.mscale_all_dim) return PlainAmplitude(rope.factor);
  const double log = std::log(rope.factor);
  return (1 + 0.1 * *rope.mscale * log) / (1 + 0.1 * *rope.mscale_all_dim * log);
}

void BendByYarn(const YarnParameters& yarn, double width, double base,
                std::vector<double>& frequencies) {
  const auto dimension = [&](double rotations) {
    return width * std::log(yarn.original / (2 * std::numbers::pi * rotations)) /
           (2 * std::log(base));
  };
  double low = dimension(yarn.beta_fast);
  double high = dimension(yarn.beta_slow);
  if (yarn.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, width - 1);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double ramp =
        std::clamp((static_cast<double>(i) - low) / (high == low ? 1e-3 : high - low), 0.0, 1.0);
    frequencies[i] *= ramp / yarn.factor + (1 - ramp);
  }
}

}  // namespace

Rotation MakeRotation(const DrafterConfig& config, const std::set<Mistake>& mistakes,
                      bool float32_angles) {
  using enum Mistake;
  const auto makes = [&](Mistake mistake) { return mistakes.contains(mistake); };
  const RopeConfig& rope = config.rope;
  const std::size_t d = config.head_dim;
  auto rotary =
      static_cast<std::size_t>(std::llround(static_cast<double>(d) * rope.partial_rotary_factor));
  if (makes(kRopeFullWidth)) rotary = d;
  double base = rope.theta;
  if (makes(kRopeTheta1e4)) base = 1e4;
  if (makes(kRopeTheta1e6)) base = 1e6;
  auto width = static_cast<double>(rotary);
  if (makes(kRopeWidth64)) width = 64;
  if (makes(kRopeWidth128)) width = 128;
  std::vector<double> frequencies(rotary / 2);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    frequencies[i] = std::pow(base, -2 * static_cast<double>(i) / width);
  }

  Rotation rotation;
  rotation.float32_angles = float32_angles;
  rotation.amplitude = Amplitude(rope);
  if (rope.type == "yarn" && !makes(kYarnIgnored)) {
    BendByYarn({rope.factor, rope.original_max_position_embeddings, rope.beta_fast, rope.beta_slow,
                rope.truncate},
               width, base, frequencies);
  }
  if (makes(kYarnIgnored) || makes(kYarnNoAmplitude)) rotation.amplitude = 1;
  if (makes(kYarnPlainAmplitude)) rotation.amplitude = PlainAmplitude(rope.factor);
  for (const auto& [mistake, factor, original] : {std::tuple{kYarn4Of32768, 4.0, 32768.0},
                                                  {kYarn32Of4096, 32.0, 4096.0},
                                                  {kYarn64Of4096, 64.0, 4096.0}}) {
    if (!makes(mistake)) continue;
    BendByYarn({factor, original, 32, 1, true}, width, base, frequencies);
    rotation.amplitude = PlainAmplitude(factor);
  }
  if (makes(kRopeBf16Frequencies)) {
    for (double& frequency : frequencies) frequency = BFloat16::FromDouble(frequency).ToDouble();
  }
  if (makes(kRopeBackwards)) rotation.direction = -1;

  const bool half_of_head = (rope.pairing == RopePairing::kHalfOfHead) != makes(kRopeOtherPairing);
  const std::size_t partner = (half_of_head ? d : rotary) / 2;
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    if (makes(kRopeInterleaved)) {
      rotation.pairs.push_back({2 * i, 2 * i + 1, frequencies[i]});
    } else {
      rotation.pairs.push_back({i, i + partner, frequencies[i]});
    }
  }
  return rotation;
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

std::size_t ArgMax(std::span<const double> scores) {
  std::size_t best = scores.size();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > -1e30 && (best == scores.size() || scores[i] > scores[best])) best = i;
  }
  return best == scores.size() ? 0 : best;
}

TopValues TopK(std::span<const double> scores, std::size_t count) {
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > -1e30) order.push_back(static_cast<std::uint32_t>(i));
  }
  const std::size_t ranked = std::min(count + 1, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(ranked), order.end(),
                    [&](std::uint32_t a, std::uint32_t b) {
                      return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
                    });
  TopValues top;
  for (std::size_t i = 0; i < count; ++i) {
    top.ids.push_back(i < order.size() ? order[i] : 0);
    top.values.push_back(i < order.size() ? scores[order[i]] : -1e30);
  }
  if (order.size() > count) top.gap = top.values.back() - scores[order[count]];
  return top;
}

}  // namespace draftmark::plain
