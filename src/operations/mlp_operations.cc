// SwiGLU, the residual stream and the convolutions around a sublayer.
#include <cmath>

#include "src/operations/support.h"
#include "src/reference/conv.h"
#include "src/reference/elementwise.h"

namespace draftmark::operations {
namespace {

template <typename N>
OperandValues SiluReference(const OperationCase&, const OperandSet& in) {
  std::vector<typename N::Storage> gate = Stored<N>(in, "gate");
  const std::vector<typename N::Storage> up = Stored<N>(in, "up");
  reference::SiluMul<N>(gate, up);
  return {{"gate", Loaded<N>(gate)}};
}

OracleValues SiluOracle(const OperationCase&, const OperandSet& in, Precision) {
  std::vector<double> result = Doubles(in, "gate");
  const std::vector<double> up = Doubles(in, "up");
  for (std::size_t i = 0; i < result.size(); ++i) {
    // The other form of the sigmoid: e^g / (1 + e^g). Gates are far from where e^g overflows.
    const double e = std::exp(result[i]);
    result[i] = result[i] * e / (1 + e) * up[i];
  }
  return {{"gate", Copied(std::move(result))}};
}

template <typename N>
OperandValues AddReference(const OperationCase&, const OperandSet& in) {
  std::vector<typename N::Storage> x = Stored<N>(in, "x");
  const std::vector<typename N::Storage> delta = Stored<N>(in, "delta");
  reference::AddInPlace<N>(x, delta);
  return {{"x", Loaded<N>(x)}};
}

OracleValues AddOracle(const OperationCase&, const OperandSet& in, Precision) {
  std::vector<double> sum = Doubles(in, "x");
  const std::vector<double> delta = Doubles(in, "delta");
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += delta[i];
  return {{"x", Copied(std::move(sum))}};
}

template <typename N, reference::ConvSide side>
OperandValues ConvReference(const OperationCase& c, const OperandSet& in) {
  std::vector<typename N::Storage> out(c["rows"] * c["h"]);
  const std::vector<typename N::Storage> x = Stored<N>(in, "x");
  const std::vector<typename N::Storage> dynamic = Stored<N>(in, "dynamic");
  const Bf16Matrix base = Matrix(in, "base").Reshaped(2 * c["taps"]);
  reference::ApplyConv<N>(x, dynamic, base, side, c["taps"], c["group"], c["band"], out);
  return {{"out", Loaded<N>(out)}};
}
template <typename N>
OperandValues PrepareReference(const OperationCase& c, const OperandSet& in) {
  return ConvReference<N, reference::ConvSide::kPrepare>(c, in);
}
template <typename N>
OperandValues FinishReference(const OperationCase& c, const OperandSet& in) {
  return ConvReference<N, reference::ConvSide::kFinish>(c, in);
}

// Index in a row of `dynamic`: side * taps * groups + tap * groups + channel / group.
template <std::size_t side>
OracleValues ConvOracle(const OperationCase& c, const OperandSet& in, Precision) {
  const std::vector<double> x = Doubles(in, "x"), dynamic = Doubles(in, "dynamic"),
                            base = Doubles(in, "base");
  const std::size_t h = c["h"], taps = c["taps"], groups = h / c["group"];
  OracleTensor out;
  for (std::size_t row = 0; row < c["rows"]; ++row) {
    for (std::size_t channel = 0; channel < h; ++channel) {
      double sum = 0, magnitude = 0;
      for (std::size_t tap = 0; tap < taps; ++tap) {
        if (tap > row % c["band"]) continue;  // would reach before the band's first row
        const double fixed = base[(side * taps + tap) * h + channel];
        const double moved =
            dynamic[row * 2 * taps * groups + (side * taps + tap) * groups + channel / c["group"]];
        const double value = x[(row - tap) * h + channel];
        sum += (fixed + moved) * value;
        magnitude += (std::abs(fixed) + std::abs(moved)) * std::abs(value);
      }
      out.values.push_back(sum);
      out.magnitudes.push_back(magnitude);
    }
  }
  return {{"out", std::move(out)}};
}

Operation Conv(std::string_view name) {
  Operation conv;
  conv.name = name;
  conv.rule = "7.1";
  conv.keys = {"rows", "h", "taps", "group", "band"};
  conv.operands = {{"x", OperandRole::kInput, DType::kBF16, {"rows", "h"}, Fill::kActivation},
                   {"dynamic",
                    OperandRole::kInput,
                    DType::kBF16,
                    {"rows", "2", "taps", "h/group"},
                    Fill::kActivation,
                    {},
                    {},
                    "rows*taps*h/group"},
                   {"base",
                    OperandRole::kInput,
                    DType::kBF16,
                    {"2", "taps", "h"},
                    Fill::kActivation,
                    {},
                    {},
                    "taps*h"},
                   {"out", OperandRole::kOutput, DType::kBF16, {"rows", "h"}}};
  conv.constraints = {ShapeConstraint::kPositive, ShapeConstraint::kBandDividesRows,
                      ShapeConstraint::kGroupDividesWidth};
  conv.violations = {{ShapeConstraint::kPositive, {1, 8, 0, 8, 1}},
                     {ShapeConstraint::kBandDividesRows, {6, 8, 2, 8, 4}},
                     {ShapeConstraint::kGroupDividesWidth, {1, 20, 2, 8, 1}}};
  // Two products a tap, one for the base and one for the moved coefficient.
  conv.extremes = {{"x", 60}, {"dynamic", 60}};
  conv.tolerance = [](const ShapeKeys& k, std::string_view) { return SingleRound(2 * k["taps"]); };
  conv.flops = [](const ShapeKeys& k) {
    return 3.0 * static_cast<double>(k["rows"] * k["h"] * k["taps"]);
  };
  conv.boundary = {{1, 1, 1, 1, 1},    {7, 48, 2, 16, 7},   {16, 64, 2, 16, 8},
                   {9, 60, 3, 5, 3},   {8, 128, 2, 1, 1},   {17, 112, 2, 112, 17},
                   {10, 62, 4, 31, 5}, {2, 7168, 2, 16, 2}, {128, 16, 2, 16, 8}};
  return conv;
}

}  // namespace

std::vector<Operation> MlpOperations() {
  Operation silu;
  silu.name = "silu_mul";
  silu.summary = "SwiGLU in place of the gate: g sigmoid(g) up, no clamp, rounded once";
  silu.rule = "4.6";
  silu.keys = {"rows", "width"};
  // Gates up to 16: a clamp at 10 is noticed.
  silu.operands = {{"gate", OperandRole::kInOut, DType::kBF16, {"rows", "width"}, Fill::kLogits},
                   {"up", OperandRole::kInput, DType::kBF16, {"rows", "width"}, Fill::kLogits}};
  silu.constraints = {ShapeConstraint::kPositive};
  silu.extremes = {{"gate", 5}, {"up", 100}};  // e^88 is the last that FP32 holds
  silu.violations = {{ShapeConstraint::kPositive, {0, 8}}};
  silu.reference = DM_REFERENCE(SiluReference);
  silu.oracle = SiluOracle;
  silu.tolerance = ElementwiseModel;
  silu.flops = [](const ShapeKeys& k) { return 5.0 * static_cast<double>(k["rows"] * k["width"]); };
  silu.boundary = {{1, 1},    {7, 127},  {8, 128},   {17, 129}, {4, 511},
                   {3, 1024}, {5, 1031}, {1, 18432}, {1, 9728}};

  Operation add = silu;
  add.name = "residual_add";
  add.summary = "adds a sublayer's output to the residual stream, rounded once";
  add.rule = "4";
  add.operands = {
      {"x", OperandRole::kInOut, DType::kBF16, {"rows", "width"}, Fill::kActivation},
      {"delta", OperandRole::kInput, DType::kBF16, {"rows", "width"}, Fill::kRowScaled}};
  add.reference = DM_REFERENCE(AddReference);
  add.extremes = {{"x", 125}, {"delta", 125}};
  add.oracle = AddOracle;
  add.flops = [](const ShapeKeys& k) { return static_cast<double>(k["rows"] * k["width"]); };
  add.boundary = {{1, 1}, {7, 127}, {8, 128}, {17, 129}, {4, 511}, {3, 2560}, {5, 1031}, {1, 7168}};

  Operation prepare = Conv("conv_prepare");
  prepare.summary = "dynamic grouped causal convolution of a sublayer's input (side 0)";
  prepare.reference = DM_REFERENCE(PrepareReference);
  prepare.oracle = ConvOracle<0>;
  Operation finish = Conv("conv_finish");
  finish.summary = "the same of the sublayer's output, with the coefficients kept (side 1)";
  finish.reference = DM_REFERENCE(FinishReference);
  finish.oracle = ConvOracle<1>;
  return {std::move(silu), std::move(add), std::move(prepare), std::move(finish)};
}

}  // namespace draftmark::operations
