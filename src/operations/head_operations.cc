// The heads of DSpark: Markov bias and confidence.
#include <cmath>

#include "src/operations/support.h"
#include "src/reference/elementwise.h"
#include "src/reference/markov.h"

namespace draftmark::operations {
namespace {

enum : std::uint64_t { kVanilla = 0, kGated = 1, kRnn = 2 };

template <typename N>
OperandValues MarkovReference(const OperationCase& c, const OperandSet& in) {
  using Storage = typename N::Storage;
  MarkovWeights weights;
  weights.type = static_cast<MarkovType>(c["type"]);
  weights.w1 = Matrix(in, "w1");
  weights.w2 = Matrix(in, "w2");
  weights.gate_proj = Matrix(in, "gate_proj");
  weights.gate_bias = Matrix(in, "gate_bias");
  weights.joint_proj = Matrix(in, "joint_proj");
  weights.joint_bias = Matrix(in, "joint_bias");
  const std::size_t v = c["v"], r = c["r"], h = c["h"];
  std::vector<Storage> logits = Stored<N>(in, "logits");
  const std::vector<Storage> hidden = Stored<N>(in, "hidden");
  std::vector<Storage> embedding(c["rows"] * r), bias(c["rows"] * v);
  reference::MarkovWalk<N> walk(weights);
  for (std::size_t row = 0; row < c["rows"]; ++row) {
    const std::span<Storage> e(embedding.data() + row * r, r);
    const std::span<Storage> b(bias.data() + row * v, v);
    walk.Gather(in.Elements<std::uint32_t>("previous")[row], e);
    // A vanilla head reads no hidden row.
    const std::span<const Storage> y =
        hidden.empty() ? std::span<const Storage>() : std::span(hidden).subspan(row * h, h);
    walk.Bias(e, y, b);
    reference::AddInPlace<N>(std::span(logits).subspan(row * v, v), b);
  }
  return {{"embedding", Loaded<N>(embedding)},
          {"bias", Loaded<N>(bias)},
          {"logits", Loaded<N>(logits)}};
}

// The form by tanh cancels where a gate is all but closed.
double Sigma(double x) {
  return x > 0 ? 0.5 * (1 + std::tanh(x / 2)) : std::exp(x) / (1 + std::exp(x));
}

std::vector<double> Joined(std::initializer_list<std::span<const double>> parts) {
  std::vector<double> all;
  for (const std::span<const double> part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// What multiplies w2, one row after the other. Linear layers and the recurrent state round on the
// way (section 6.1: one rounding per linear).
class LatentOracle {
 public:
  LatentOracle(const OperationCase& c, const OperandSet& in, Precision precision)
      : c_(c), in_(in), precision_(precision), state_(c["r"], 0) {}

  std::vector<double> Step(std::span<const double> e, std::span<const double> y) {
    const std::size_t r = c_["r"];
    std::vector<double> latent(e.begin(), e.end());
    if (c_["type"] == kGated) {
      const std::vector<double> gate = Project("gate", Joined({y, e}), r);
      for (std::size_t i = 0; i < r; ++i) latent[i] = Round(Sigma(gate[i]) * e[i]);
    }
    if (c_["type"] == kRnn) {
      const std::vector<double> joint = Project("joint", Joined({state_, e, y}), 3 * r);
      for (std::size_t i = 0; i < r; ++i) {
        const double keep = Sigma(joint[i]);
        state_[i] = Round(keep * state_[i] + (1 - keep) * std::tanh(joint[r + i]));
        latent[i] = Round(std::tanh(joint[2 * r + i]));
      }
    }
    return latent;
  }

 private:
  double Round(double value) const { return RoundTo(precision_, value); }
  std::vector<double> Project(const std::string& name, const std::vector<double>& x,
                              std::size_t outputs) const {
    std::vector<double> y =
        LinearOracle(x, Doubles(in_, name + "_proj"), Doubles(in_, name + "_bias"), 1, outputs)
            .values;
    for (double& value : y) value = Round(value);
    return y;
  }

  const OperationCase& c_;
  const OperandSet& in_;
  Precision precision_;
  std::vector<double> state_;
};

// A latent value that is rounded on the way may fall on the other side of a midpoint, a whole BF16
// step (2^-7 of it) away: this allows four average ones of the r that are summed.
double LatentShare(const ShapeKeys& keys) {
  return keys["type"] == kVanilla ? 0 : std::ldexp(4 / static_cast<double>(keys["r"]), -7);
}

OracleValues MarkovOracle(const OperationCase& c, const OperandSet& in, Precision precision) {
  const std::size_t v = c["v"], r = c["r"], h = c["h"];
  const std::vector<double> w1 = Doubles(in, "w1"), w2 = Doubles(in, "w2"),
                            hidden = Doubles(in, "hidden"), logits = Doubles(in, "logits");
  LatentOracle latent(c, in, precision);
  const double share = SingleRound(r).accumulation + LatentShare(c.keys);
  OracleTensor embedding, bias, biased;
  for (std::size_t row = 0; row < c["rows"]; ++row) {
    const std::uint64_t previous = in.Elements<std::uint32_t>("previous")[row];
    const std::span<const double> e = std::span(w1).subspan(previous * r, r);
    const std::span<const double> y =
        c["type"] == kVanilla ? std::span<const double>() : std::span(hidden).subspan(row * h, h);
    const OracleTensor step = LinearOracle(latent.Step(e, y), w2, {}, 1, v);
    embedding.values.insert(embedding.values.end(), e.begin(), e.end());
    for (std::size_t i = 0; i < v; ++i) {
      bias.values.push_back(step.values[i]);
      bias.magnitudes.push_back(step.magnitudes[i]);
      biased.values.push_back(logits[row * v + i] + RoundTo(precision, step.values[i]));
      biased.magnitudes.push_back(
          precision == Precision::kExact
              ? std::abs(logits[row * v + i]) + step.magnitudes[i]
              // How far the stored bias may be off: a step of BF16, and the error of its sum.
              : Spacing(step.values[i], UlpUnit::kBf16) + share * step.magnitudes[i]);
    }
  }
  return {{"embedding", std::move(embedding)},
          {"bias", std::move(bias)},
          {"logits", std::move(biased)}};
}

ErrorModel MarkovModel(const ShapeKeys& keys, std::string_view output) {
  if (output == "embedding") return Exact();
  ErrorModel model = SingleRound(keys["r"]);
  if (output == "bias") model.accumulation += LatentShare(keys);
  // The magnitudes are already what the bias may be off by, see MarkovOracle.
  if (output == "logits") model.accumulation = 1;
  return model;
}

template <typename N>
OperandValues ConfidenceReference(const OperationCase& c, const OperandSet& in) {
  const ConfidenceWeights weights = {Matrix(in, "proj"), Matrix(in, "bias")};
  const std::vector<typename N::Storage> hidden = Stored<N>(in, "hidden");
  const std::vector<typename N::Storage> embedding = Stored<N>(in, "embedding");
  std::vector<double> kappa;
  for (std::size_t row = 0; row < c["rows"]; ++row) {
    kappa.push_back(N::Load(
        reference::ConfidenceLogit<N>(weights, std::span(hidden).subspan(row * c["h"], c["h"]),
                                      std::span(embedding).subspan(row * c["r"], c["r"]))));
  }
  return {{"kappa", std::move(kappa)}};
}

OracleValues ConfidenceOracle(const OperationCase& c, const OperandSet& in, Precision) {
  const std::vector<double> hidden = Doubles(in, "hidden"), embedding = Doubles(in, "embedding");
  std::vector<double> features;
  for (std::size_t row = 0; row < c["rows"]; ++row) {
    const std::vector<double> joined = Joined({std::span(hidden).subspan(row * c["h"], c["h"]),
                                               std::span(embedding).subspan(row * c["r"], c["r"])});
    features.insert(features.end(), joined.begin(), joined.end());
  }
  return {
      {"kappa", LinearOracle(features, Doubles(in, "proj"), Doubles(in, "bias"), c["rows"], 1)}};
}

Operation MarkovStep() {
  Operation markov;
  markov.name = "markov_step";
  markov.summary =
      "bias of each row from its previous token, added to its logits; heads of type "
      "vanilla 0, gated 1, rnn 2";
  markov.rule = "6.1";
  markov.keys = {"rows", "v", "r", "h", "type"};
  markov.zero_ok = {"type"};
  markov.operands = {
      {"previous", OperandRole::kInput, DType::kU32, {"rows"}, Fill::kIds, "v"},
      {"hidden", OperandRole::kInput, DType::kBF16, {"rows", "h"}, Fill::kActivation, {}, "type"},
      {"w1", OperandRole::kInput, DType::kBF16, {"v", "r"}, Fill::kActivation, {}, {}, "rows*r"},
      {"w2", OperandRole::kInput, DType::kBF16, {"v", "r"}, Fill::kWeight},
      {"gate_proj",
       OperandRole::kInput,
       DType::kBF16,
       {"r", "gate_width"},
       Fill::kWeight,
       {},
       "gated"},
      {"gate_bias", OperandRole::kInput, DType::kBF16, {"r"}, Fill::kActivation, {}, "gated"},
      {"joint_proj",
       OperandRole::kInput,
       DType::kBF16,
       {"3*r", "joint_width"},
       Fill::kWeight,
       {},
       "rnn"},
      {"joint_bias", OperandRole::kInput, DType::kBF16, {"3*r"}, Fill::kActivation, {}, "rnn"},
      {"embedding", OperandRole::kOutput, DType::kBF16, {"rows", "r"}},
      {"bias", OperandRole::kOutput, DType::kBF16, {"rows", "v"}},
      {"logits", OperandRole::kInOut, DType::kBF16, {"rows", "v"}, Fill::kActivation}};
  markov.constraints = {ShapeConstraint::kPositive, ShapeConstraint::kKnownHeadType};
  // Of a gate that is all but closed, a whole step of BF16 decides how far: no bound would hold.
  markov.extremes = {{"hidden", 1}, {"w1", 6}, {"logits", 100, true}};
  markov.violations = {{ShapeConstraint::kPositive, {1, 8, 0, 8, 0}},
                       {ShapeConstraint::kKnownHeadType, {1, 8, 8, 8, 3}}};
  markov.derive = [](ShapeKeys& k) {
    k.Derive("gated", k["type"] == kGated ? 1 : 0);
    k.Derive("rnn", k["type"] == kRnn ? 1 : 0);
    k.Derive("gate_width", k["h"] + k["r"]);
    k.Derive("joint_width", k["h"] + 2 * k["r"]);
  };
  markov.reference = DM_REFERENCE(MarkovReference);
  markov.oracle = MarkovOracle;
  markov.tolerance = MarkovModel;
  markov.flops = [](const ShapeKeys& k) {
    const double latent = k["type"] == kVanilla ? 0
                          : k["type"] == kGated
                              ? 2.0 * static_cast<double>(k["r"] * k["gate_width"])
                              : 6.0 * static_cast<double>(k["r"] * k["joint_width"]);
    return static_cast<double>(k["rows"]) *
           (latent + 2.0 * static_cast<double>(k["v"] * k["r"]) + static_cast<double>(k["v"]));
  };
  markov.boundary = {{1, 1, 1, 1, 0},      {7, 127, 127, 16, 0}, {8, 128, 128, 16, 1},
                     {3, 129, 129, 48, 2}, {16, 509, 64, 61, 0}, {5, 257, 61, 64, 1},
                     {7, 251, 32, 127, 2}, {1, 4099, 256, 8, 0}};
  return markov;
}

}  // namespace

std::vector<Operation> HeadOperations() {
  Operation confidence;
  confidence.name = "confidence";
  confidence.summary =
      "confidence logit of each row from [hidden; embedding of the previous token]";
  confidence.rule = "6.2";
  confidence.keys = {"rows", "h", "r"};
  confidence.zero_ok = {"r"};  // a head that reads the hidden row alone
  confidence.operands = {
      {"hidden", OperandRole::kInput, DType::kBF16, {"rows", "h"}, Fill::kActivation},
      {"embedding", OperandRole::kInput, DType::kBF16, {"rows", "r"}, Fill::kActivation, {}, "r"},
      {"proj", OperandRole::kInput, DType::kBF16, {"1", "features"}, Fill::kWeight},
      {"bias", OperandRole::kInput, DType::kBF16, {"1"}, Fill::kActivation},
      {"kappa", OperandRole::kOutput, DType::kBF16, {"rows"}}};
  confidence.constraints = {ShapeConstraint::kPositive};
  confidence.extremes = {{"hidden", 100}, {"embedding", 100}};
  confidence.violations = {{ShapeConstraint::kPositive, {1, 0, 8}}};
  confidence.derive = [](ShapeKeys& k) { k.Derive("features", k["h"] + k["r"]); };
  confidence.reference = DM_REFERENCE(ConfidenceReference);
  confidence.oracle = ConfidenceOracle;
  confidence.tolerance = [](const ShapeKeys& k, std::string_view) {
    return SingleRound(k["features"] + 1);
  };
  confidence.flops = [](const ShapeKeys& k) {
    return 2.0 * static_cast<double>(k["rows"] * k["features"]);
  };
  confidence.boundary = {{1, 1, 0},      {7, 127, 1},  {8, 128, 128}, {17, 129, 127},
                         {16, 509, 256}, {5, 1021, 0}, {7, 7168, 256}};
  return {MarkovStep(), std::move(confidence)};
}

}  // namespace draftmark::operations
