#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/compare/tolerance.h"
#include "tools/python/calls.h"

namespace draftmark::python {
namespace {

StatusOr<TensorView> ViewOf(const NamedViews& tensors, const std::string& name) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) return NotFoundError("compare: no tensor " + name);
  return found->second;
}

StatusOr<std::vector<double>> ValuesOf(const NamedViews& tensors, const std::string& name) {
  DM_ASSIGN_OR_RETURN(const TensorView view, ViewOf(tensors, name));
  StatusOr<std::vector<double>> values = ToDoubles(view);
  if (!values.ok()) return values.status().Annotated(name);
  return values;
}

StatusOr<UlpUnit> ReadUnit(const JsonObject& request) {
  DM_ASSIGN_OR_RETURN(const std::string name, request.StringOr("output", "BF16"));
  for (const UlpUnit unit : {UlpUnit::kBf16, UlpUnit::kF32, UlpUnit::kF64}) {
    if (name == UlpUnitName(unit)) return unit;
  }
  return request.TypeError("output", "\"BF16\", \"F32\" or \"F64\"");
}

StatusOr<ErrorModel> ReadModel(const JsonObject& request) {
  DM_ASSIGN_OR_RETURN(const std::string name, request.String("tolerance_class"));
  if (name == ToleranceClassName(ToleranceClass::kExact)) return Exact();
  if (name == ToleranceClassName(ToleranceClass::kSingleRound)) {
    DM_ASSIGN_OR_RETURN(const std::uint64_t length, request.U64Or("reduction_length", 0));
    return SingleRound(length);
  }
  if (name == ToleranceClassName(ToleranceClass::kAttention)) {
    DM_ASSIGN_OR_RETURN(const std::string type, request.StringOr("probabilities", "F32"));
    if (type == "F32") return AttentionModel(ProbabilityType::kF32);
    if (type == "F16") return AttentionModel(ProbabilityType::kF16);
    if (type == "BF16") return AttentionModel(ProbabilityType::kBf16);
    return request.TypeError("probabilities", "\"F32\", \"F16\" or \"BF16\"");
  }
  return request.TypeError("tolerance_class",
                           "\"T0\", \"T1\" or \"T2\" (T3 is reported and never fails; T4 is of "
                           "whole drafts, which `draftmark verify` and `diff` judge)");
}

struct Magnitudes {
  std::vector<double> values;  // empty where the model has no use for them
  double largest_value = 0;
};

StatusOr<Magnitudes> ReadMagnitudes(const JsonObject& request, const NamedViews& tensors,
                                    const ErrorModel& model, const std::vector<double>& expected) {
  Magnitudes magnitudes;
  if (model.value_share > 0) {
    DM_ASSIGN_OR_RETURN(magnitudes.largest_value, request.Number("largest_value"));
    if (magnitudes.largest_value < 0) {
      return request.TypeError("largest_value", "max |v|, which is not negative");
    }
  }
  if (model.accumulation == 0) return magnitudes;
  if (!tensors.contains("magnitudes")) {
    // The least that they can be, since terms cancel but never add up to more than their magnitudes.
    for (const double value : expected) magnitudes.values.push_back(std::abs(value));
    return magnitudes;
  }
  DM_ASSIGN_OR_RETURN(const TensorView view, ViewOf(tensors, "magnitudes"));
  DM_ASSIGN_OR_RETURN(const TensorView expected_view, ViewOf(tensors, "expected"));
  // As many elements are not enough: those of a transposed tensor would belong to others.
  if (view.shape != expected_view.shape) {
    return InvalidArgumentError(fmt::format("magnitudes: expected shape {}, found {}",
                                            ShapeToString(expected_view.shape),
                                            ShapeToString(view.shape)));
  }
  DM_ASSIGN_OR_RETURN(magnitudes.values, ValuesOf(tensors, "magnitudes"));
  for (const double value : magnitudes.values) {
    if (!(value >= 0) || std::isinf(value)) {
      return InvalidArgumentError(
          fmt::format("magnitudes: expected finite sums of magnitudes, found {}", value));
    }
  }
  return magnitudes;
}

// JSON has no infinity: null stands for it.
OrderedJson FiniteOrNull(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
}

}  // namespace

StatusOr<Reply> AnswerCompare(const JsonObject& request, const NamedViews& tensors) {
  DM_ASSIGN_OR_RETURN(ErrorModel model, ReadModel(request));
  DM_ASSIGN_OR_RETURN(model.output, ReadUnit(request));
  DM_ASSIGN_OR_RETURN(const TensorView expected_view, ViewOf(tensors, "expected"));
  DM_ASSIGN_OR_RETURN(const TensorView actual_view, ViewOf(tensors, "actual"));
  if (expected_view.shape != actual_view.shape) {
    return InvalidArgumentError(fmt::format("actual: expected shape {}, found {}",
                                            ShapeToString(expected_view.shape),
                                            ShapeToString(actual_view.shape)));
  }
  DM_ASSIGN_OR_RETURN(const std::vector<double> expected, ValuesOf(tensors, "expected"));
  DM_ASSIGN_OR_RETURN(const std::vector<double> actual, ValuesOf(tensors, "actual"));
  DM_ASSIGN_OR_RETURN(const Magnitudes magnitudes,
                      ReadMagnitudes(request, tensors, model, expected));
  const std::vector<double> bounds =
      Bounds(model, expected, magnitudes.values, magnitudes.largest_value);
  const BoundedComparison result =
      CompareWithin(expected_view.shape, expected, actual, bounds, model.output);
  Reply reply;
  reply.json["passed"] = result.passed();
  reply.json["elements"] = expected.size();
  reply.json["exceeding"] = result.exceeding;
  reply.json["used_share"] = FiniteOrNull(result.used_share);
  reply.json["relative_l2"] = FiniteOrNull(result.comparison.relative_l2);
  reply.json["max_abs"] = FiniteOrNull(result.comparison.max_abs);
  if (!expected.empty()) {
    const std::size_t at = result.tightest;
    reply.json["tightest"] =
        fmt::format("{}: expected {:.9g}, got {:.9g}, bound {:.3g}",
                    LogicalIndex(expected_view.shape, at), expected[at], actual[at], bounds[at]);
    reply.json["worst"] = DescribeWorst(result.comparison);
  }
  reply.json["histogram"] = DescribeHistogram(result.comparison);
  return reply;
}

}  // namespace draftmark::python
