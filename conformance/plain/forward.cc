#include "conformance/plain/forward.h"

#include <fmt/format.h>

#include <cmath>

#include "conformance/plain/state.h"
#include "src/base/check.h"
#include "src/base/parallel.h"
#include "src/tensor/bfloat16.h"

namespace draftmark::plain {

bool IsBf16Stage(std::string_view stage) {
  for (const char* other : {"draft_tokens", "margin", "selector.candidate_ids", "selector.scores",
                            "selector.topk_gap"}) {
    if (stage == other) return false;
  }
  return true;
}

Given Recorder::Next(const StageId& id, Computed computed) {
  if (IsBf16Stage(id.stage)) {
    for (double& value : computed.values) value = Round(value);
  }
  values_[id] = computed.values;
  return {std::move(computed.values), true};
}

double Recorder::Round(double value) const {
  return rounding_ == Rounding::kBf16 ? BFloat16::FromDouble(value).ToDouble() : value;
}

namespace {

// Doubles kept before the cache starts afresh: 2 GiB.
constexpr std::size_t kLargestCache = std::size_t{1} << 28;

}  // namespace

const Product& ProductCache::Get(std::span<const double> x, const Bf16Matrix& weight) {
  std::pair<const void*, std::vector<double>> key = {weight.values().data(), {x.begin(), x.end()}};
  if (const auto found = products_.find(key); found != products_.end()) return found->second;
  const std::size_t width = weight.cols();
  const std::size_t rows = width == 0 ? 0 : x.size() / width;
  const std::size_t outputs = weight.rows();
  if ((kept_ += 3 * rows * outputs + x.size()) > kLargestCache) {
    products_.clear();
    kept_ = 3 * rows * outputs + x.size();
  }
  Product product;
  product.values.resize(rows * outputs);
  product.magnitude.resize(rows * outputs);
  product.largest.resize(rows * outputs);
  // Below this many outputs a thread costs more than it saves.
  const std::size_t grain = 1 + (std::size_t{1} << 20) / std::max<std::size_t>(1, rows * width);
  ParallelFor(outputs, grain, [&](std::size_t, std::size_t begin, std::size_t end) {
    std::vector<double> w(width);
    for (std::size_t o = begin; o < end; ++o) {
      for (std::size_t i = 0; i < width; ++i) w[i] = weight.row(o)[i].ToDouble();
      for (std::size_t row = 0; row < rows; ++row) {
        double sum = 0;
        double magnitude = 0;
        double largest = 0;
        for (std::size_t i = 0; i < width; ++i) {
          const double term = x[row * width + i] * w[i];
          sum += term;
          magnitude += std::abs(term);
          largest = std::max(largest, std::abs(term));
        }
        product.values[row * outputs + o] = sum;
        product.magnitude[row * outputs + o] = magnitude;
        product.largest[row * outputs + o] = largest;
      }
    }
  });
  return products_[std::move(key)] = std::move(product);
}

Status CheckBands(const DrafterConfig& config, const Bands& bands) {
  const auto error = [](std::size_t band, std::size_t step, const std::string& what) {
    return InvalidArgumentError(fmt::format("band {}, step {}: {}", band, step, what));
  };
  if (bands.empty() || bands[0].empty())
    return InvalidArgumentError("inputs: expected at least one step of band 0, found none");
  for (std::size_t b = 0; b < bands.size(); ++b) {
    std::uint64_t context = 0;
    for (std::size_t s = 0; s < bands[b].size(); ++s) {
      const CaseStep& step = bands[b][s];
      const auto rows = static_cast<std::int64_t>(step.new_context_rows);
      if (step.block_tokens.size() < 2) {
        return error(
            b, s,
            fmt::format("block_tokens: expected at least 2, found {}", step.block_tokens.size()));
      }
      for (const std::uint32_t token : step.block_tokens) {
        if (token >= config.vocab_size) {
          return error(b, s,
                       fmt::format("block_tokens: expected ids below {}, found {}",
                                   config.vocab_size, token));
        }
      }
      if (step.target_hidden.size() != step.new_context_rows * config.tap_width()) {
        return error(
            b, s,
            fmt::format("target_hidden: expected {} values, found {}",
                        step.new_context_rows * config.tap_width(), step.target_hidden.size()));
      }
      if (step.drop_front_rows > context) {
        return error(b, s,
                     fmt::format("drop_front_rows: expected at most {}, found {}", context,
                                 step.drop_front_rows));
      }
      if (step.start < rows ||
          step.start > INT32_MAX - static_cast<std::int64_t>(step.block_tokens.size())) {
        return error(b, s,
                     fmt::format("start: expected a 32-bit position of at least {}, found {}", rows,
                                 step.start));
      }
      context += step.new_context_rows - step.drop_front_rows;
    }
  }
  return OkStatus();
}

Forward::Forward(const DrafterConfig& config, const DrafterWeights& weights, const Bands& bands,
                 const Options& options, ProductCache& products, Hook& hook)
    : config_(config),
      weights_(weights),
      bands_(bands),
      options_(options),
      products_(products),
      hook_(hook),
      rotation_(MakeRotation(config, options.mistakes, options.float32_angles)),
      states_(bands.size()) {
  for (Band& band : states_) {
    band.context.resize(config.num_hidden_layers);
    band.block.resize(config.num_hidden_layers);
  }
}

Given Forward::Emit(const std::string& stage, Terms terms, bool local,
                    std::vector<Choice> choices) {
  const std::size_t count = terms.values.size();
  Given next =
      hook_.Next({step_, band_, stage}, {std::move(terms.values), std::move(terms.magnitude),
                                         std::move(terms.largest), local, std::move(choices)});
  DM_CHECK(next.values.size() == count);
  return next;
}

std::vector<double> Forward::Rounded(std::vector<double> values) const {
  for (double& value : values) value = hook_.Round(value);
  return values;
}

Terms Forward::Linear(std::span<const double> x, const Bf16Matrix& weight,
                      std::span<const BFloat16> bias) {
  const Product& product = products_.Get(x, weight);
  Terms result{product.values, product.magnitude};
  if (bias.empty()) return result;
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    const double b = bias[i % bias.size()].ToDouble();
    result.values[i] += b;
    result.magnitude[i] += std::abs(b);
  }
  return result;
}

Terms Forward::Norm(std::span<const double> x, std::size_t row, const Bf16Matrix& weight,
                    std::span<const double> x_magnitude) const {
  double epsilon = config_.rms_norm_eps;
  if (Makes(Mistake::kEpsilon1e6)) epsilon = 1e-6;
  if (Makes(Mistake::kEpsilon1e5)) epsilon = 1e-5;
  return RmsNorm(x, x_magnitude, row, weight.values(), epsilon,
                 Makes(Mistake::kNormPlusOne) ? 1 : 0);
}

Terms Forward::HeadNorm(Terms projected, const Bf16Matrix& weight) const {
  if (Makes(Mistake::kQkNormMissing)) return projected;
  return Norm(projected.values, config_.head_dim,
              Makes(Mistake::kQkNormNoWeight) ? Bf16Matrix() : weight, projected.magnitude);
}

void Forward::Run() {
  while (!hook_.Stop() && RunStep()) {
  }
}

bool Forward::RunStep() {
  bool any = false;
  for (band_ = 0; band_ < bands_.size(); ++band_) {
    if (step_ >= bands_[band_].size()) continue;
    any = true;
    DropFront();
    const Given hidden = ContextRows();
    // Row i of this step's context: start - n + i, stamped once.
    const auto rows = static_cast<std::int64_t>(call().new_context_rows);
    for (std::int64_t i = 0; i < rows; ++i) state().positions.push_back(call().start - rows + i);
    Given stream = Embedding();
    for (std::uint64_t layer = 0; layer < config_.num_hidden_layers; ++layer) {
      if (hook_.Stop()) return false;
      Layer(layer, hidden, stream);
    }
    if (hook_.Stop()) return false;
    Tail(stream);
    FinishStep();
    if (hook_.Stop()) return false;
  }
  ++step_;
  return any;
}

namespace {

Status CheckRun(const DrafterConfig& config, const Bands& bands) {
  DM_RETURN_IF_ERROR(CheckBands(config, bands));
  const auto rotary = static_cast<std::int64_t>(
      std::llround(static_cast<double>(config.head_dim) * config.rope.partial_rotary_factor));
  if (rotary > 0 && rotary % 2 == 0 && rotary <= static_cast<std::int64_t>(config.head_dim))
    return OkStatus();
  return InvalidArgumentError(
      fmt::format("rotary width: expected an even number from 2 to head_dim {}, found {}",
                  config.head_dim, rotary));
}

}  // namespace

Status Run(const DrafterConfig& config, const DrafterWeights& weights, const Bands& bands,
           const Options& options, Hook& hook) {
  DM_RETURN_IF_ERROR(CheckRun(config, bands));
  ProductCache own;
  Forward(config, weights, bands, options, options.products != nullptr ? *options.products : own,
          hook)
      .Run();
  return OkStatus();
}

Steps::Steps() = default;
Steps::~Steps() = default;
Steps::Steps(Steps&&) noexcept = default;
Steps& Steps::operator=(Steps&&) noexcept = default;

StatusOr<Steps> Steps::Open(const DrafterConfig& config, const DrafterWeights& weights,
                            const Bands& bands, const Options& options, Hook& hook) {
  DM_RETURN_IF_ERROR(CheckRun(config, bands));
  Steps steps;
  steps.products_ = std::make_unique<ProductCache>();
  steps.forward_ = std::make_unique<Forward>(
      config, weights, bands, options,
      options.products != nullptr ? *options.products : *steps.products_, hook);
  return steps;
}

void Steps::Next() { forward_->RunStep(); }

}  // namespace draftmark::plain
