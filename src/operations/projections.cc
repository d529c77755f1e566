// Embedding, linear layers and the copies around them.
#include <algorithm>
#include <cmath>

#include "src/operations/support.h"
#include "src/reference/copies.h"
#include "src/reference/elementwise.h"
#include "src/reference/linear.h"

namespace draftmark::operations {

OracleTensor LinearOracle(std::span<const double> x, std::span<const double> weight,
                          std::span<const double> bias, std::size_t rows, std::size_t outputs) {
  const std::size_t width = x.size() / rows;
  OracleTensor result;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t o = 0; o < outputs; ++o) {
      double sum = bias.empty() ? 0 : bias[o];
      double magnitude = std::abs(sum);
      for (std::size_t i = 0; i < width; ++i) {
        const double term = x[row * width + i] * weight[o * width + i];
        sum += term;
        magnitude += std::abs(term);
      }
      result.values.push_back(sum);
      result.magnitudes.push_back(magnitude);
    }
  }
  return result;
}

namespace {

// Gemma's scale is sqrt(h); this one has few bits, so that the FP32 product of the rule is exact.
constexpr double kEmbeddingScale = 73.25;

template <typename N>
OperandValues EmbedReference(const OperationCase& c, const OperandSet& in) {
  const Bf16Matrix table = Matrix(in, "table");
  const Bf16Matrix mask = Matrix(in, "mask_embedding");
  const std::span<const std::uint32_t> ids = in.Elements<std::uint32_t>("ids");
  std::vector<typename N::Storage> out(c["rows"] * c["h"]);
  for (std::size_t row = 0; row < ids.size(); ++row) {
    const bool masked = !mask.empty() && ids[row] == c["v"] - 1;
    reference::EmbedRow<N>(masked ? mask.row(0) : table.row(ids[row]),
                           c.operation->attribute("scale"), {out.data() + row * c["h"], c["h"]});
  }
  return {{"out", Loaded<N>(out)}};
}

OracleValues EmbedOracle(const OperationCase& c, const OperandSet& in, Precision precision) {
  const std::vector<double> table = Doubles(in, "table");
  const std::vector<double> mask = Doubles(in, "mask_embedding");
  const auto ids = in.Elements<std::uint32_t>("ids");
  std::vector<double> out;
  for (const std::uint32_t id : ids) {
    for (std::size_t i = 0; i < c["h"]; ++i) {
      const bool masked = !mask.empty() && id == c["v"] - 1;
      const double value = masked ? mask[i] : table[id * c["h"] + i];
      out.push_back(RoundTo(precision, value * kEmbeddingScale));
    }
  }
  return {{"out", Copied(std::move(out))}};
}

// With a mask embedding every other row is a mask row, whose id is the last of the vocabulary.
void PrepareEmbed(const OperationCase& c, OperandSet& operands) {
  if (c["mask"] == 0) return;
  const std::span<std::uint32_t> ids = operands.MutableElements<std::uint32_t>("ids");
  const auto mask = static_cast<std::uint32_t>(c["v"] - 1);
  for (std::size_t row = 0; row < ids.size(); ++row) {
    ids[row] = row % 2 == 1 ? mask : ids[row] % std::max(1u, mask);
  }
}

template <typename N>
OperandValues LinearReference(const OperationCase& c, const OperandSet& in) {
  std::vector<typename N::Storage> out(c["rows"] * c["n"]);
  const std::vector<typename N::Storage> x = Stored<N>(in, "x");
  const double multiplier = c["cap"] == 1 ? c.operation->attribute("multiplier") : 1;
  const double cap = c["cap"] == 1 ? c.operation->attribute("softcap") : 0;
  const auto epilogue = [&](double z) { return reference::CappedLogit(z, multiplier, cap); };
  reference::Linear<N>(x, c["rows"], Matrix(in, "weight"), in.Elements<BFloat16>("bias"),
                       out.data(), c["n"], epilogue);
  return {{"y", Loaded<N>(out)}};
}

OracleValues LinearCaseOracle(const OperationCase& c, const OperandSet& in, Precision) {
  OracleTensor y =
      LinearOracle(Doubles(in, "x"), Doubles(in, "weight"), Doubles(in, "bias"), c["rows"], c["n"]);
  if (c["cap"] == 1) {
    const double multiplier = c.operation->attribute("multiplier");
    const double cap = c.operation->attribute("softcap");
    // tanh has no slope above 1, so errors of the sum only shrink.
    for (double& magnitude : y.magnitudes) magnitude *= multiplier;
    for (double& value : y.values) value = cap * std::tanh(value * multiplier / cap);
  }
  return {{"y", std::move(y)}};
}

ErrorModel LinearModel(const ShapeKeys& keys, std::string_view) { return SingleRound(keys["k"]); }

template <typename N>
OperandValues GatherReference(const OperationCase& c, const OperandSet& in) {
  const Bf16Matrix table = Matrix(in, "table");
  const std::span<const std::uint32_t> index = in.Elements<std::uint32_t>("index");
  std::vector<typename N::Storage> out(c["rows"] * c["width"]);
  for (std::size_t row = 0; row < index.size(); ++row) {
    reference::CopyRow<N>(table.row(index[row]), {out.data() + row * c["width"], c["width"]});
  }
  return {{"out", Loaded<N>(out)}};
}

OracleValues GatherOracle(const OperationCase& c, const OperandSet& in, Precision) {
  const std::vector<double> table = Doubles(in, "table");
  const auto index = in.Elements<std::uint32_t>("index");
  std::vector<double> out(c["rows"] * c["width"]);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = table[index[i / c["width"]] * c["width"] + i % c["width"]];
  }
  return {{"out", Copied(std::move(out))}};
}

// Strided copies out of the fused projection, row blocks K_0, V_0, K_1, V_1, ...
template <typename N>
OperandValues SplitReference(const OperationCase& c, const OperandSet& in) {
  const std::vector<typename N::Storage> fused = Stored<N>(in, "fused");
  const std::size_t rows = c["rows"], layers = c["layers"], width = c["kv"];
  std::vector<typename N::Storage> k(layers * rows * width), v(k.size());
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const std::size_t at = layer * rows * width;
    reference::CopyFusedPart(fused.data(), rows, layers, width, layer, reference::FusedPart::kKey,
                             k.data() + at);
    reference::CopyFusedPart(fused.data(), rows, layers, width, layer, reference::FusedPart::kValue,
                             v.data() + at);
  }
  return {{"k", Loaded<N>(k)}, {"v", Loaded<N>(v)}};
}

OracleValues SplitOracle(const OperationCase& c, const OperandSet& in, Precision) {
  const std::vector<double> fused = Doubles(in, "fused");
  const std::size_t layers = c["layers"], rows = c["rows"], width = c["kv"];
  std::vector<double> k(layers * rows * width), v(k.size());
  for (std::size_t i = 0; i < fused.size(); ++i) {
    const std::size_t row = i / (2 * layers * width);
    const std::size_t column = i % (2 * layers * width);
    const std::size_t layer = column / (2 * width);
    const std::size_t target = (layer * rows + row) * width + column % width;
    (column % (2 * width) < width ? k : v)[target] = fused[i];
  }
  return {{"k", Copied(std::move(k))}, {"v", Copied(std::move(v))}};
}

}  // namespace

std::vector<Operation> ProjectionOperations() {
  Operation embed;
  embed.name = "embed";
  embed.summary = "embedding rows of a block, scaled; mask rows may have a vector of their own";
  embed.rule = "2";
  embed.keys = {"rows", "v", "h", "mask"};
  embed.flags = {"mask"};
  embed.operands = {
      {"ids", OperandRole::kInput, DType::kU32, {"rows"}, Fill::kIds, "v"},
      {"table",
       OperandRole::kInput,
       DType::kBF16,
       {"v", "h"},
       Fill::kActivation,
       {},
       {},
       "looked_up*h"},
      {"mask_embedding", OperandRole::kInput, DType::kBF16, {"h"}, Fill::kActivation, {}, "mask"},
      {"out", OperandRole::kOutput, DType::kBF16, {"rows", "h"}}};
  embed.attributes = {{"scale", kEmbeddingScale}};
  embed.extremes = {{"table", 127}, {"mask_embedding", 127}};
  embed.constraints = {ShapeConstraint::kPositive, ShapeConstraint::kFlags};
  embed.violations = {{ShapeConstraint::kPositive, {0, 7, 8, 0}},
                      {ShapeConstraint::kFlags, {1, 7, 8, 2}}};
  embed.derive = [](ShapeKeys& k) {
    k.Derive("looked_up", k["mask"] == 1 ? k["rows"] - k["rows"] / 2 : k["rows"]);
  };
  embed.prepare = PrepareEmbed;
  embed.reference = DM_REFERENCE(EmbedReference);
  embed.oracle = EmbedOracle;
  embed.tolerance = ExactModel;
  embed.flops = [](const ShapeKeys& k) { return static_cast<double>(k["rows"] * k["h"]); };
  embed.boundary = {{1, 1, 1, 0},      {7, 101, 127, 1}, {8, 101, 128, 0},
                    {17, 101, 129, 1}, {16, 53, 509, 1}, {1, 31, 7168, 0}};

  Operation linear;
  linear.name = "linear";
  linear.summary = "y = x W^T (+ bias), and the multiplier and softcap of the logits";
  linear.rule = "1, 5";
  linear.keys = {"rows", "n", "k", "bias", "cap"};
  linear.flags = {"bias", "cap"};
  linear.operands = {
      {"x", OperandRole::kInput, DType::kBF16, {"rows", "k"}, Fill::kActivation},
      {"weight", OperandRole::kInput, DType::kBF16, {"n", "k"}, Fill::kWeight},
      {"bias", OperandRole::kInput, DType::kBF16, {"n"}, Fill::kActivation, {}, "bias"},
      {"y", OperandRole::kOutput, DType::kBF16, {"rows", "n"}}};
  // A cap near the size of the results bends them visibly; real ones (30) hardly would.
  linear.attributes = {{"multiplier", 1.5}, {"softcap", 2}};
  linear.extremes = {{"x", 100}, {"bias", 100}};
  linear.constraints = {ShapeConstraint::kPositive, ShapeConstraint::kFlags};
  linear.violations = {{ShapeConstraint::kPositive, {1, 8, 0, 0, 0}},
                       {ShapeConstraint::kFlags, {1, 8, 8, 0, 3}}};
  linear.reference = DM_REFERENCE(LinearReference);
  linear.oracle = LinearCaseOracle;
  linear.tolerance = LinearModel;
  linear.flops = [](const ShapeKeys& k) {
    return 2.0 * static_cast<double>(k["rows"]) * static_cast<double>(k["n"]) *
           static_cast<double>(k["k"]);
  };
  linear.boundary = {{1, 1, 1, 0, 0},     {1, 127, 128, 0, 0},  {7, 128, 127, 1, 0},
                     {8, 129, 129, 0, 0}, {15, 64, 128, 0, 0},  {16, 128, 128, 1, 0},
                     {17, 65, 257, 0, 0}, {23, 131, 509, 0, 0}, {16, 1021, 64, 0, 1},
                     {1, 3, 17408, 0, 0}, {2, 16, 43008, 0, 0}};

  Operation gather;
  gather.name = "row_gather";
  gather.summary = "copies chosen rows: taps of several bands into precompute_in, w1[prev]";
  gather.rule = "3.7, 6.1";
  gather.keys = {"rows", "from", "width"};
  gather.operands = {{"index", OperandRole::kInput, DType::kU32, {"rows"}, Fill::kIds, "from"},
                     {"table",
                      OperandRole::kInput,
                      DType::kBF16,
                      {"from", "width"},
                      Fill::kActivation,
                      {},
                      {},
                      "rows*width"},
                     {"out", OperandRole::kOutput, DType::kBF16, {"rows", "width"}}};
  gather.constraints = {ShapeConstraint::kPositive};
  gather.violations = {{ShapeConstraint::kPositive, {1, 1, 0}}};
  gather.extremes = {{"table", 127, true}};
  gather.reference = DM_REFERENCE(GatherReference);
  gather.oracle = GatherOracle;
  gather.tolerance = ExactModel;
  gather.flops = NoFlops;
  gather.boundary = {{1, 1, 1}, {255, 300, 3}, {256, 300, 4}, {257, 300, 5}, {1, 101, 43008}};

  Operation split;
  split.name = "kv_split";
  split.summary = "takes the fused context projection apart: K of all layers together, V by layer";
  split.rule = "3.4";
  split.keys = {"rows", "layers", "kv"};
  split.operands = {
      {"fused", OperandRole::kInput, DType::kBF16, {"rows", "2*layers*kv"}, Fill::kActivation},
      {"k", OperandRole::kOutput, DType::kBF16, {"layers", "rows", "kv"}},
      {"v", OperandRole::kOutput, DType::kBF16, {"layers", "rows", "kv"}}};
  split.constraints = {ShapeConstraint::kPositive};
  split.violations = {{ShapeConstraint::kPositive, {1, 0, 8}}};
  split.extremes = {{"fused", 127}};
  split.reference = DM_REFERENCE(SplitReference);
  split.oracle = SplitOracle;
  split.tolerance = ExactModel;
  split.flops = NoFlops;
  split.boundary = {{1, 1, 1}, {7, 2, 16}, {17, 5, 24}, {1, 6, 1024}, {1, 8, 512}};
  return {std::move(embed), std::move(gather), std::move(linear), std::move(split)};
}

}  // namespace draftmark::operations
