// From logits to tokens: argmax, top-16 and the selector's walk.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "src/base/counter_hash.h"
#include "src/operations/support.h"
#include "src/reference/elementwise.h"
#include "src/reference/selector.h"

namespace draftmark::operations {
namespace {

constexpr std::size_t kTop = 16;
constexpr double kNothing = -1e30;  // spec/drafter.md section 5: not above it, not a candidate

template <typename N>
OperandValues ArgMaxReference(const OperationCase& c, const OperandSet& in) {
  const std::vector<typename N::Storage> logits = Stored<N>(in, "logits");
  std::vector<double> tokens;
  for (std::size_t row = 0; row < c["rows"]; ++row) {
    tokens.push_back(reference::ArgMax<N>(std::span(logits).subspan(row * c["v"], c["v"])));
  }
  return {{"tokens", std::move(tokens)}};
}

// Ids of a row's values above the floor, best first, ties by id.
std::vector<std::size_t> Ranked(std::span<const double> row) {
  std::vector<std::size_t> ids;
  for (std::size_t id = 0; id < row.size(); ++id) {
    if (row[id] > kNothing) ids.push_back(id);
  }
  std::stable_sort(ids.begin(), ids.end(),
                   [&](std::size_t a, std::size_t b) { return row[a] > row[b]; });
  return ids;
}

OracleValues ArgMaxOracle(const OperationCase& c, const OperandSet& in, Precision) {
  const std::vector<double> logits = Doubles(in, "logits");
  std::vector<double> tokens;
  for (std::size_t row = 0; row < c["rows"]; ++row) {
    const std::vector<std::size_t> ids = Ranked(std::span(logits).subspan(row * c["v"], c["v"]));
    tokens.push_back(ids.empty() ? 0 : static_cast<double>(ids[0]));
  }
  return {{"tokens", Copied(std::move(tokens))}};
}

// Row 0 as it is drawn; row 1 with its maximum twice; row 2 with NaN and infinities; row 3 empty.
void PrepareLogits(const OperationCase& c, OperandSet& operands) {
  const std::size_t v = c["v"];
  const std::span<BFloat16> logits = operands.MutableElements<BFloat16>("logits");
  for (std::size_t row = 0; row < c["rows"]; ++row) {
    const std::span<BFloat16> values = logits.subspan(row * v, v);
    if (row % 4 == 1) values[v - 1] = values[v / 3] = BFloat16::FromDouble(20);
    if (row % 4 == 2) {
      for (std::size_t id = 0; id < v; id += 3) {
        values[id] = BFloat16::FromDouble(id % 2 == 0 ? std::nan("") : -INFINITY);
      }
    }
    if (row % 4 == 3) std::fill(values.begin(), values.end(), BFloat16::FromDouble(kNothing));
  }
}

template <typename N>
OperandValues TopReference(const OperationCase& c, const OperandSet& in) {
  const std::vector<typename N::Storage> logits = Stored<N>(in, "logits");
  OperandValues result;
  for (std::size_t row = 0; row < c["rows"]; ++row) {
    const reference::Candidates best =
        reference::TopK<N>(std::span(logits).subspan(row * c["v"], c["v"]), kTop);
    for (const double value : best.values) {
      // sel_vals is FP32, and the padding's -1e30 with it.
      result["values"].push_back(static_cast<float>(value));
    }
    for (const std::uint32_t id : best.ids) result["ids"].push_back(id);
  }
  return result;
}

OracleValues TopOracle(const OperationCase& c, const OperandSet& in, Precision) {
  const std::vector<double> logits = Doubles(in, "logits");
  OracleTensor values, ids;
  for (std::size_t row = 0; row < c["rows"]; ++row) {
    const std::span<const double> all = std::span(logits).subspan(row * c["v"], c["v"]);
    const std::vector<std::size_t> ranked = Ranked(all);
    for (std::size_t k = 0; k < kTop; ++k) {
      const bool there = k < ranked.size();
      values.values.push_back(there ? all[ranked[k]] : static_cast<float>(kNothing));
      ids.values.push_back(there ? static_cast<double>(ranked[k]) : 0);
    }
  }
  return {{"values", std::move(values)}, {"ids", std::move(ids)}};
}

template <typename N>
OperandValues WalkReference(const OperationCase& c, const OperandSet& in) {
  const std::size_t rank = c["r"];
  const std::vector<typename N::Storage> hidden = Stored<N>(in, "hidden");
  const Bf16Matrix predecessor = Matrix(in, "predecessor");
  const Bf16Matrix successor = Matrix(in, "successor");
  const std::span<const float> values = in.Elements<float>("values");
  const std::span<const std::uint32_t> ids = in.Elements<std::uint32_t>("ids");
  OperandValues result;
  for (std::size_t row = 0; row < c["rows"]; ++row) {
    std::vector<double>& tokens = result["tokens"];
    if (row % c["band"] == 0) {
      tokens.push_back(in.Elements<std::uint32_t>("anchors")[row / c["band"]]);
      continue;
    }
    reference::Candidates candidates;
    for (std::size_t k = row * kTop; k < (row + 1) * kTop; ++k) {
      candidates.values.push_back(values[k]);
      candidates.ids.push_back(ids[k]);
    }
    const std::vector<double> scores = reference::SelectorScores<N>(
        candidates, static_cast<std::uint32_t>(tokens.back()),
        std::span(hidden).subspan(row * rank, rank), predecessor, successor);
    tokens.push_back(reference::ChooseCandidate(candidates, scores));
    result["scores"].insert(result["scores"].end(), scores.begin(), scores.end());
  }
  return result;
}

OracleValues WalkOracle(const OperationCase& c, const OperandSet& in, Precision) {
  const std::vector<double> hidden = Doubles(in, "hidden");
  const std::vector<double> predecessor = Doubles(in, "predecessor");
  const std::vector<double> successor = Doubles(in, "successor");
  const std::span<const float> values = in.Elements<float>("values");
  const std::span<const std::uint32_t> ids = in.Elements<std::uint32_t>("ids");
  const std::size_t rank = c["r"];
  OracleTensor tokens, scores;
  for (std::size_t band = 0; band < c["bands"]; ++band) {
    std::size_t previous = in.Elements<std::uint32_t>("anchors")[band];
    tokens.values.push_back(static_cast<double>(previous));
    for (std::size_t row = band * c["band"] + 1; row < (band + 1) * c["band"]; ++row) {
      double best = -std::numeric_limits<double>::infinity();
      std::size_t choice = 0;
      for (std::size_t k = row * kTop; k < (row + 1) * kTop; ++k) {
        double score = values[k];
        double magnitude = std::abs(score);
        for (std::size_t i = 0; i < rank; ++i) {
          const double term = predecessor[previous * rank + i] * hidden[row * rank + i] *
                              successor[ids[k] * rank + i];
          score += term;
          magnitude += std::abs(term);
        }
        scores.values.push_back(score);
        scores.magnitudes.push_back(magnitude);
        if (score > best) {
          best = score;
          choice = ids[k];
        }
      }
      previous = choice;
      tokens.values.push_back(static_cast<double>(choice));
    }
  }
  OracleValues result = {{"tokens", std::move(tokens)}};
  if (c["drafts"] > 0) result["scores"] = std::move(scores);
  return result;
}

// Candidates by descending value, ids all different; of each pair of ids 2i, 2i + 1 the codes are
// equal, so that equal values tie exactly and the earlier candidate must win.
void PrepareWalk(const OperationCase& c, OperandSet& operands) {
  const std::span<float> values = operands.MutableElements<float>("values");
  const std::span<std::uint32_t> ids = operands.MutableElements<std::uint32_t>("ids");
  const std::uint64_t seed = SeedOf(c.Id() + "/values");
  for (std::size_t row = 0; row < c["rows"]; ++row) {
    const std::uint64_t first = BitsAt(seed, row) % c["v"];
    for (std::size_t k = 0; k < kTop; ++k) {
      // Pairs of equal values, a quarter apart: close enough for the codes to decide.
      const std::size_t step = k / 2;
      values[row * kTop + k] = static_cast<float>(4 - 0.25 * static_cast<double>(step));
      // Neighbours k, k + 1 get ids 2i + 1, 2i: the tie must not go to the lower id.
      const std::uint64_t pair = (first + 3 * step) % (c["v"] / 2);
      ids[row * kTop + k] = static_cast<std::uint32_t>(2 * pair + 1 - k % 2);
    }
  }
  const std::span<BFloat16> successor = operands.MutableElements<BFloat16>("successor");
  const std::size_t rank = c["r"];
  for (std::size_t id = 1; id < c["v"]; id += 2) {
    std::copy_n(successor.begin() + static_cast<std::ptrdiff_t>((id - 1) * rank), rank,
                successor.begin() + static_cast<std::ptrdiff_t>(id * rank));
  }
}

Operation SelectorWalk() {
  Operation walk;
  walk.name = "selector_walk";
  walk.summary = "greedy walk over the candidates of each row, each given its predecessor";
  walk.rule = "7.2";
  walk.keys = {"rows", "band", "v", "r"};
  walk.operands = {{"values",
                    OperandRole::kInput,
                    DType::kF32,
                    {"rows", "16"},
                    Fill::kPrepared,
                    {},
                    {},
                    "drafts*16"},
                   {"ids",
                    OperandRole::kInput,
                    DType::kU32,
                    {"rows", "16"},
                    Fill::kPrepared,
                    {},
                    {},
                    "drafts*16"},
                   {"hidden",
                    OperandRole::kInput,
                    DType::kBF16,
                    {"rows", "r"},
                    Fill::kActivation,
                    {},
                    {},
                    "drafts*r"},
                   {"anchors", OperandRole::kInput, DType::kU32, {"bands"}, Fill::kIds, "v"},
                   {"predecessor",
                    OperandRole::kInput,
                    DType::kBF16,
                    {"v", "r"},
                    Fill::kWeight,
                    {},
                    {},
                    "drafts*r"},
                   {"successor",
                    OperandRole::kInput,
                    DType::kBF16,
                    {"v", "r"},
                    Fill::kActivation,
                    {},
                    {},
                    "drafts*16*r"},
                   {"tokens", OperandRole::kOutput, DType::kU32, {"rows"}},
                   {"scores", OperandRole::kOutput, DType::kF32, {"drafts", "16"}}};
  // 48 ids: eight pairs, three apart, must be different (PrepareWalk).
  walk.extremes = {{"hidden", 60}};
  walk.constraints = {ShapeConstraint::kPositive, ShapeConstraint::kBandDividesRows,
                      ShapeConstraint::kRoomForCandidates};
  walk.violations = {{ShapeConstraint::kPositive, {8, 8, 64, 0}},
                     {ShapeConstraint::kBandDividesRows, {8, 5, 64, 8}},
                     {ShapeConstraint::kRoomForCandidates, {8, 8, 47, 8}}};
  walk.derive = [](ShapeKeys& k) {
    k.Derive("bands", k["rows"] / k["band"]);
    k.Derive("drafts", k["rows"] - k["bands"]);
  };
  walk.prepare = PrepareWalk;
  walk.reference = DM_REFERENCE(WalkReference);
  walk.oracle = WalkOracle;
  walk.tolerance = [](const ShapeKeys& k, std::string_view output) {
    if (output == "tokens") return Exact();
    ErrorModel model = SingleRound(k["r"]);
    model.output = UlpUnit::kF32;
    return model;
  };
  walk.flops = [](const ShapeKeys& k) {
    return static_cast<double>(k["drafts"] * k["r"]) * (1 + 2.0 * kTop);
  };
  walk.boundary = {{2, 2, 48, 1},    {7, 7, 101, 127},  {16, 8, 128, 128}, {17, 17, 509, 129},
                   {32, 8, 257, 64}, {8, 8, 4099, 256}, {2, 2, 262144, 2}};
  return walk;
}

}  // namespace

std::vector<Operation> TokenOperations() {
  Operation argmax;
  argmax.name = "argmax";
  argmax.summary = "greatest logit of each row; ties to the lowest id, NaN never";
  argmax.rule = "5";
  argmax.keys = {"rows", "v"};
  argmax.operands = {{"logits", OperandRole::kInput, DType::kBF16, {"rows", "v"}, Fill::kLogits},
                     {"tokens", OperandRole::kOutput, DType::kU32, {"rows"}}};
  argmax.constraints = {ShapeConstraint::kPositive};
  argmax.extremes = {{"logits", 127, true}};
  argmax.violations = {{ShapeConstraint::kPositive, {1, 0}}};
  argmax.prepare = PrepareLogits;
  argmax.reference = DM_REFERENCE(ArgMaxReference);
  argmax.oracle = ArgMaxOracle;
  argmax.tolerance = ExactModel;
  argmax.flops = NoFlops;
  argmax.boundary = {{1, 1},    {7, 127},  {8, 128},    {17, 129},   {4, 1023},
                     {4, 1024}, {4, 1025}, {16, 32749}, {4, 151936}, {2, 262144}};

  Operation top = argmax;
  top.name = "top16";
  top.summary = "the 16 greatest logits of each row, by descending value, ties by id";
  top.rule = "7.2";
  top.operands = {{"logits", OperandRole::kInput, DType::kBF16, {"rows", "v"}, Fill::kLogits},
                  {"values", OperandRole::kOutput, DType::kF32, {"rows", "16"}},
                  {"ids", OperandRole::kOutput, DType::kU32, {"rows", "16"}}};
  top.reference = DM_REFERENCE(TopReference);
  top.oracle = TopOracle;
  top.boundary = {{1, 1},    {4, 15},   {4, 16},     {4, 17},     {7, 127},   {8, 128},
                  {17, 129}, {4, 1025}, {16, 32749}, {4, 151936}, {2, 262144}};
  return {std::move(argmax), std::move(top), SelectorWalk()};
}

}  // namespace draftmark::operations
