#include "conformance/operations/check_operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/tensor/bfloat16.h"

namespace draftmark {
namespace {

// Some thousand additions in float64 stay far below it, and it is far below any BF16 step.
constexpr double kFloat64Share = 1e-12;
// Minutes of one core. The largest published product, 128 rows by an LM head, takes 5e11.
constexpr double kMostOracleFlops = 1e12;
// Float64 copies of BF16 operands take four times as much, several at a time.
constexpr std::uint64_t kMostOracleBytes = std::uint64_t{1} << 29;

UlpUnit UnitOf(DType dtype) {
  switch (dtype) {
    case DType::kBF16:
      return UlpUnit::kBf16;
    case DType::kF32:
      return UlpUnit::kF32;
    default:
      return UlpUnit::kF64;  // ids: exact in it
  }
}

bool Representable(DType dtype, double value) {
  if (std::isnan(value)) return true;
  switch (dtype) {
    case DType::kBF16:
      return BFloat16::FromDouble(value).ToDouble() == value;
    case DType::kU32:
      return value >= 0 && value <= UINT32_MAX && value == std::floor(value);
    case DType::kI64:
      return value == std::floor(value);
    default:
      return true;  // FP32 results may be handed over unrounded
  }
}

// Float64 against float64: each element's own terms say how much its sum may be off.
std::vector<double> SumBounds(const OracleTensor& oracle) {
  std::vector<double> bounds(oracle.values.size());
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const double terms = oracle.magnitudes.empty()
                             ? std::max(std::abs(oracle.values[i]), oracle.largest_value)
                             : oracle.magnitudes[i];
    bounds[i] = std::isfinite(terms) ? kFloat64Share * terms : 0;
  }
  return bounds;
}

// The oracle rounded once, up to the error of a float64 sum.
std::vector<double> RoundingBounds(const OracleTensor& oracle, UlpUnit unit) {
  std::vector<double> bounds = SumBounds(oracle);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const double spacing = Spacing(oracle.values[i], unit);
    if (std::isfinite(spacing)) bounds[i] += 0.5 * spacing;
  }
  return bounds;
}

class Judge {
 public:
  Judge(const OperationCase& c, Precision precision, SumType sums)
      : c_(c), precision_(precision), sums_(sums) {}

  OutputVerdict Output(const Operand& operand, const OracleTensor& oracle,
                       const std::vector<double>* got) const {
    OutputVerdict verdict;
    verdict.output = operand.name;
    verdict.shape = operand.shape;
    verdict.model = c_.operation->tolerance(c_.keys, operand.name);
    if (got == nullptr) {
      verdict.failure = verdict.kind = "missing";
      return verdict;
    }
    if (got->size() != oracle.values.size()) {
      verdict.failure =
          fmt::format("expected {} elements, found {}", oracle.values.size(), got->size());
      verdict.kind = "size";
      return verdict;
    }
    const bool exact_class = verdict.model.tolerance == ToleranceClass::kExact;
    const UlpUnit unit = precision_ == Precision::kExact ? UlpUnit::kF64 : UnitOf(operand.dtype);
    if (precision_ == Precision::kBf16) {
      const auto bad = std::find_if_not(got->begin(), got->end(), [&](double value) {
        return Representable(operand.dtype, value);
      });
      if (bad != got->end()) {
        verdict.failure =
            fmt::format("element {} = {:.17g} is no {} number",
                        LogicalIndex(operand.shape, static_cast<std::uint64_t>(bad - got->begin())),
                        *bad, DTypeName(operand.dtype));
        verdict.kind = "not representable";
        return verdict;
      }
    }
    const std::vector<double> bounds =
        precision_ == Precision::kExact && !exact_class
            ? SumBounds(oracle)
            : Bounds(verdict.model, oracle.values, oracle.magnitudes, oracle.largest_value);
    verdict.comparison = CompareWithin(operand.shape, oracle.values, *got, bounds, unit);
    verdict.failure = Describe(verdict.comparison, bounds, unit, "allowed");
    if (!verdict.failure.empty()) verdict.kind = "bound";
    if (verdict.failure.empty() && precision_ == Precision::kBf16 && sums_ == SumType::kFloat64 &&
        !exact_class) {
      const std::vector<double> sharp = RoundingBounds(oracle, unit);
      verdict.failure = Describe(CompareWithin(operand.shape, oracle.values, *got, sharp, unit),
                                 sharp, unit, "allowed to a float64 sum");
      if (!verdict.failure.empty()) verdict.kind = "rounding";
    }
    return verdict;
  }

 private:
  static std::string Describe(const BoundedComparison& comparison,
                              const std::vector<double>& bounds, UlpUnit unit,
                              std::string_view allowed) {
    if (comparison.passed()) return "";
    return fmt::format("{} of {} elements off; worst {}; {:.3g} {}", comparison.exceeding,
                       comparison.comparison.elements, DescribeWorst(comparison.comparison),
                       bounds[comparison.comparison.worst_index] /
                           Spacing(comparison.comparison.worst_expected, unit),
                       allowed);
  }

  const OperationCase& c_;
  Precision precision_;
  SumType sums_;
};

}  // namespace

bool OperationReport::passed() const {
  return no_result.reason.empty() &&
         std::all_of(verdicts.begin(), verdicts.end(),
                     [](const OutputVerdict& verdict) { return verdict.failure.empty(); });
}

std::string OperationReport::Signature() const {
  if (no_result.failed()) return no_result.Signature();
  for (const OutputVerdict& verdict : verdicts) {
    if (!verdict.failure.empty()) return fmt::format("{}: {}", verdict.output, verdict.kind);
  }
  return "";
}

double OperationReport::UsedShare() const {
  double share = 0;
  for (const OutputVerdict& verdict : verdicts) {
    share = std::max(share, verdict.comparison.used_share);
  }
  return share;
}

StatusOr<OperationReport> CheckOperation(const OperationCase& c, Precision precision,
                                         const std::string& backend, SumType sums,
                                         const RunOperation& run) {
  OperationReport report;
  report.id = c.Id();
  report.backend = backend;
  report.precision = precision;
  if (const double flops = c.operation->flops(c.keys); flops > kMostOracleFlops) {
    return ResourceExhaustedError(
        fmt::format("{}: its oracle takes {:.3g} operations on the CPU, expected at most {:.3g}",
                    report.id, flops, kMostOracleFlops));
  }
  DM_ASSIGN_OR_RETURN(const OperandSet operands, MakeOperands(c));
  std::uint64_t bytes = 0;
  for (const Operand& operand : operands.operands()) bytes += operand.bytes.size();
  if (bytes > kMostOracleBytes) {
    return ResourceExhaustedError(
        fmt::format("{}: its operands take {} bytes, expected at most {} for an oracle in float64",
                    report.id, bytes, kMostOracleBytes));
  }
  const OracleValues oracle = c.operation->oracle(c, operands, precision);
  StatusOr<OperandValues> got = run(c, operands);
  if (!got.ok()) return got.status().Annotated(report.id);
  const Judge judge(c, precision, sums);
  for (const Operand& operand : operands.operands()) {
    if (operand.role == OperandRole::kInput) continue;
    const auto expected = oracle.find(operand.name);
    // An output without elements need not be there.
    if (expected == oracle.end()) continue;
    const auto found = got->find(operand.name);
    report.verdicts.push_back(
        judge.Output(operand, expected->second, found == got->end() ? nullptr : &found->second));
  }
  for (const auto& [name, ignored] : *got) {
    if (oracle.find(name) != oracle.end()) continue;
    OutputVerdict verdict;
    verdict.output = name;
    verdict.failure = "not an output of this operation";
    verdict.kind = "unknown";
    report.verdicts.push_back(std::move(verdict));
  }
  return report;
}

StatusOr<OperationReport> CheckReference(const OperationCase& c, Precision precision) {
  return CheckOperation(
      c, precision, "reference", SumType::kFloat64,
      [&](const OperationCase& one, const OperandSet& operands) {
        return StatusOr<OperandValues>(one.operation->reference(one, operands, precision));
      });
}

std::string ReportText(const OperationReport& report) {
  const std::string head =
      fmt::format("{} {} {}", report.id, report.backend, PrecisionName(report.precision));
  if (report.passed())
    return fmt::format("PASS {}: {:.3g} of the bound\n", head, report.UsedShare());
  if (report.no_result.unsupported()) {
    return fmt::format("SKIP {}: unsupported: {}\n", head, report.no_result.reason);
  }
  std::string text = fmt::format("FAIL {}\n", head);
  if (report.no_result.failed()) text += fmt::format("  {}\n", report.no_result.reason);
  for (const OutputVerdict& verdict : report.verdicts) {
    if (verdict.failure.empty()) continue;
    text += fmt::format("  {} ({}): {}\n", verdict.output,
                        ToleranceClassName(verdict.model.tolerance), verdict.failure);
    const Comparison& comparison = verdict.comparison.comparison;
    if (comparison.elements > 0) {
      text += fmt::format("  error histogram in {} ULPs: {}\n", UlpUnitName(comparison.unit),
                          DescribeHistogram(comparison));
    }
  }
  text += fmt::format("  signature: {}\n", report.Signature());
  return text + fmt::format("  reproduce: draftmark verify {} --backend {} --precision {}\n",
                            report.id, report.backend, PrecisionName(report.precision));
}

OrderedJson ReportJson(const OperationReport& report) {
  OrderedJson json = {{"case", report.id},
                      {"backend", report.backend},
                      {"precision", PrecisionName(report.precision)},
                      {"passed", report.passed()},
                      {"signature", report.Signature()},
                      {"used_share", report.UsedShare()}};
  if (!report.no_result.reason.empty()) json["no_result"] = report.no_result.reason;
  for (const OutputVerdict& verdict : report.verdicts) {
    json["outputs"].push_back({{"name", verdict.output},
                               {"class", ToleranceClassName(verdict.model.tolerance)},
                               {"used_share", verdict.comparison.used_share},
                               {"max_abs", verdict.comparison.comparison.max_abs},
                               {"failure", verdict.failure}});
  }
  return json;
}

}  // namespace draftmark
