// RMSNorm over rows and over heads, and the rotary position embedding.
#include <cmath>

#include "src/base/counter_hash.h"
#include "src/config/rope_table.h"
#include "src/operations/support.h"
#include "src/reference/elementwise.h"
#include "src/reference/rope.h"

namespace draftmark::operations {
namespace {

constexpr double kEpsilon = 1e-5;
constexpr double kTheta = 1e6;
constexpr double kAmplitude = 1.25;
// The last position of the longest published context, where the FP32 angle is worst.
constexpr std::int32_t kLastPosition = 262143;

template <typename N>
OperandValues NormReference(const OperationCase& c, const OperandSet& in) {
  const std::size_t width = in.Get("x").shape.back();
  const std::vector<typename N::Storage> x = Stored<N>(in, "x");
  std::vector<typename N::Storage> out(x.size());
  reference::RmsNorm<N>(x, x.size() / width, width, in.Elements<BFloat16>("weight"),
                        c.operation->attribute("epsilon"), out);
  return {{"y", Loaded<N>(out)}};
}

OracleValues NormOracle(const OperationCase&, const OperandSet& in, Precision) {
  const std::vector<double> x = Doubles(in, "x");
  const std::vector<double> weight = Doubles(in, "weight");
  const std::size_t width = weight.size();
  std::vector<double> y(x.size());
  for (std::size_t row = 0; row < x.size() / width; ++row) {
    double mean = 0;
    for (std::size_t i = 0; i < width; ++i) {
      mean += std::pow(x[row * width + i], 2) / static_cast<double>(width);
    }
    for (std::size_t i = 0; i < width; ++i) {
      y[row * width + i] = x[row * width + i] * weight[i] / std::sqrt(mean + kEpsilon);
    }
  }
  return {{"y", Copied(std::move(y))}};
}

template <typename N>
OperandValues RopeReference(const OperationCase& c, const OperandSet& in) {
  RopeTable table;
  for (const float frequency : in.Elements<float>("frequency"))
    table.frequency.push_back(frequency);
  table.amplitude = c.operation->attribute("amplitude");
  table.partner = (c["half_head"] == 1 ? c["d"] : c["rotary"]) / 2;
  std::vector<typename N::Storage> x = Stored<N>(in, "x");
  const std::span<const std::int32_t> positions = in.Elements<std::int32_t>("positions");
  for (std::size_t head = 0; head < c["rows"] * c["heads"]; ++head) {
    reference::RotateHead<N>(table, positions[head / c["heads"]],
                             {x.data() + head * c["d"], c["d"]});
  }
  return {{"x", Loaded<N>(x)}};
}

OracleValues RopeOracle(const OperationCase& c, const OperandSet& in, Precision precision) {
  const std::vector<double> x = Doubles(in, "x");
  const std::span<const float> frequency = in.Elements<float>("frequency");
  const std::span<const std::int32_t> positions = in.Elements<std::int32_t>("positions");
  const std::size_t d = c["d"];
  const std::size_t partner = (c["half_head"] == 1 ? d : c["rotary"]) / 2;
  OracleTensor y = Copied(x);
  y.magnitudes.assign(x.size(), 0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    y.magnitudes[i] = std::abs(x[i]);
    const std::size_t e = i % d;
    if (e >= c["rotary"] / 2) continue;  // rotated with its partner, or left alone
    const std::int32_t position = positions[i / (d * c["heads"])];
    // The angle is an FP32 product by rule: its error is part of the definition.
    const double angle = precision == Precision::kBf16
                             ? static_cast<double>(static_cast<float>(position) * frequency[e])
                             : static_cast<double>(position) * frequency[e];
    const double a = x[i], b = x[i + partner];
    y.values[i] = kAmplitude * (a * std::cos(angle) - b * std::sin(angle));
    y.values[i + partner] = kAmplitude * (b * std::cos(angle) + a * std::sin(angle));
    y.magnitudes[i] = kAmplitude * (std::abs(a) + std::abs(b));
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i % d < c["rotary"] / 2) y.magnitudes[i + partner] = y.magnitudes[i];
  }
  return {{"x", std::move(y)}};
}

void PrepareRope(const OperationCase& c, OperandSet& operands) {
  const std::span<float> frequency = operands.MutableElements<float>("frequency");
  for (std::size_t i = 0; i < frequency.size(); ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(c["rotary"]);
    frequency[i] = static_cast<float>(std::pow(kTheta, exponent));
  }
  const std::span<std::int32_t> positions = operands.MutableElements<std::int32_t>("positions");
  for (std::size_t row = 0; row < positions.size(); ++row) {
    positions[row] =
        static_cast<std::int32_t>(BitsAt(SeedOf(c.Id() + "/positions"), row) % kLastPosition);
  }
  positions.front() = kLastPosition;
  if (positions.size() > 1) positions.back() = 0;  // nothing turns, only the amplitude shows
}

}  // namespace

std::vector<Operation> NormOperations() {
  Operation norm;
  norm.name = "rms_norm";
  norm.summary = "RMSNorm of whole rows, rounded once; the weight multiplies as it is";
  norm.rule = "4.1";
  norm.keys = {"rows", "h"};
  norm.operands = {{"x", OperandRole::kInput, DType::kBF16, {"rows", "h"}, Fill::kRowScaled},
                   {"weight", OperandRole::kInput, DType::kBF16, {"h"}, Fill::kNormWeight},
                   {"y", OperandRole::kOutput, DType::kBF16, {"rows", "h"}}};
  norm.attributes = {{"epsilon", kEpsilon}};
  norm.extremes = {{"x", 50}};  // its squares are summed
  norm.constraints = {ShapeConstraint::kPositive};
  norm.violations = {{ShapeConstraint::kPositive, {3, 0}}};
  norm.reference = DM_REFERENCE(NormReference);
  norm.oracle = NormOracle;
  norm.tolerance = ElementwiseModel;
  norm.flops = [](const ShapeKeys& k) { return 4.0 * static_cast<double>(k["rows"] * k["h"]); };
  norm.boundary = {{1, 1},    {7, 127},  {8, 128},  {17, 129}, {2, 1023},
                   {3, 1024}, {2, 1025}, {2, 2503}, {12, 251}, {1, 7168}};

  Operation head = norm;
  head.name = "head_norm";
  head.summary = "RMSNorm of each head, before RoPE; one weight for all heads of a layer";
  head.keys = {"rows", "heads", "d"};
  head.operands = {
      {"x", OperandRole::kInput, DType::kBF16, {"rows", "heads", "d"}, Fill::kRowScaled},
      {"weight", OperandRole::kInput, DType::kBF16, {"d"}, Fill::kNormWeight},
      {"y", OperandRole::kOutput, DType::kBF16, {"rows", "heads", "d"}}};
  head.violations = {{ShapeConstraint::kPositive, {1, 0, 64}}};
  head.flops = [](const ShapeKeys& k) {
    return 4.0 * static_cast<double>(k["rows"] * k["heads"] * k["d"]);
  };
  head.boundary = {{1, 1, 1},    {7, 9, 63},  {8, 8, 64},  {5, 3, 65},  {17, 4, 127},
                   {16, 5, 128}, {3, 2, 129}, {2, 1, 251}, {1, 64, 128}};

  Operation rope;
  rope.name = "rope";
  rope.summary = "rotary embedding in place: FP32 table, FP32 angle, one rounding";
  rope.rule = "4.3";
  rope.keys = {"rows", "heads", "d", "rotary", "half_head"};
  rope.flags = {"half_head"};
  rope.operands = {{"x",
                    OperandRole::kInOut,
                    DType::kBF16,
                    {"rows", "heads", "d"},
                    Fill::kActivation,
                    {},
                    {},
                    "2*rows*heads*rotary"},
                   {"frequency", OperandRole::kInput, DType::kF32, {"rotary/2"}, Fill::kPrepared},
                   {"positions", OperandRole::kInput, DType::kI32, {"rows"}, Fill::kPrepared}};
  rope.attributes = {{"theta", kTheta}, {"amplitude", kAmplitude}};
  rope.extremes = {{"x", 125}};
  rope.constraints = {ShapeConstraint::kPositive, ShapeConstraint::kFlags,
                      ShapeConstraint::kRotaryEven, ShapeConstraint::kRotaryWithinHead};
  rope.violations = {{ShapeConstraint::kPositive, {1, 1, 8, 0, 0}},
                     {ShapeConstraint::kFlags, {1, 1, 8, 8, 2}},
                     {ShapeConstraint::kRotaryEven, {1, 1, 8, 5, 0}},
                     {ShapeConstraint::kRotaryWithinHead, {1, 1, 8, 10, 0}}};
  rope.prepare = PrepareRope;
  rope.reference = DM_REFERENCE(RopeReference);
  rope.oracle = RopeOracle;
  rope.tolerance = [](const ShapeKeys&, std::string_view) { return SingleRound(2); };
  rope.flops = [](const ShapeKeys& k) {
    return 3.0 * static_cast<double>(k["rows"] * k["heads"] * k["rotary"]);
  };
  rope.boundary = {{1, 1, 2, 2, 0},      {7, 8, 64, 64, 0},  {8, 4, 128, 128, 0},
                   {5, 3, 128, 64, 0},   {5, 3, 128, 64, 1}, {17, 2, 126, 126, 0},
                   {16, 1, 130, 130, 1}, {3, 5, 256, 64, 1}, {2, 64, 128, 128, 0}};
  return {std::move(norm), std::move(head), std::move(rope)};
}

}  // namespace draftmark::operations
