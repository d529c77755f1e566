#include "src/operations/operation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/base/checked.h"
#include "src/base/counter_hash.h"
#include "src/cases/case_id.h"

namespace draftmark {
namespace {

constexpr std::uint64_t kLargestCaseBytes = std::uint64_t{4} << 30;

bool Contains(const std::vector<std::string_view>& list, std::string_view key) {
  return std::find(list.begin(), list.end(), key) != list.end();
}

std::string Named(const OperationCase& c, std::string_view operand) {
  return fmt::format("{}: operand {}", c.Id(), operand);
}

}  // namespace

bool OperandExists(const OperandSpec& spec, const ShapeKeys& keys) {
  return spec.when.empty() || keys[spec.when] != 0;
}

StatusOr<Shape> OperandShape(const OperandSpec& spec, const ShapeKeys& keys) {
  Shape shape;
  for (const std::string_view dim : spec.shape) {
    DM_ASSIGN_OR_RETURN(const std::uint64_t size, EvaluateDim(dim, keys));
    shape.push_back(size);
  }
  return shape;
}

std::string_view ConstraintText(ShapeConstraint constraint) {
  switch (constraint) {
    case ShapeConstraint::kPositive:
      return "every size is at least 1";
    case ShapeConstraint::kFlags:
      return "flags are 0 or 1";
    case ShapeConstraint::kKvHeadsDivideHeads:
      return "kv divides heads";
    case ShapeConstraint::kGroupDividesWidth:
      return "group divides h";
    case ShapeConstraint::kRotaryEven:
      return "rotary is even";
    case ShapeConstraint::kRotaryWithinHead:
      return "rotary is at most d";
    case ShapeConstraint::kBandDividesRows:
      return "band divides rows";
    case ShapeConstraint::kRowsFitPool:
      return "rows is at most 16 times blocks";
    case ShapeConstraint::kContextInReach:
      return "ctx, rows and window are at most 2^24";
    case ShapeConstraint::kRoomForCandidates:
      return "v is at least 48";
    case ShapeConstraint::kKnownHeadType:
      return "type is 0 (vanilla), 1 (gated) or 2 (rnn)";
  }
  return "";
}

bool Holds(ShapeConstraint constraint, const ShapeKeys& keys) {
  switch (constraint) {
    case ShapeConstraint::kPositive:
    case ShapeConstraint::kFlags:
      return true;  // these need to know which keys are flags: MakeCase checks them
    case ShapeConstraint::kKvHeadsDivideHeads:
      return keys["kv"] > 0 && keys["heads"] % keys["kv"] == 0;
    case ShapeConstraint::kGroupDividesWidth:
      return keys["group"] > 0 && keys["h"] % keys["group"] == 0;
    case ShapeConstraint::kRotaryEven:
      return keys["rotary"] % 2 == 0;
    case ShapeConstraint::kRotaryWithinHead:
      return keys["rotary"] <= keys["d"];
    case ShapeConstraint::kBandDividesRows:
      return keys["band"] > 0 && keys["rows"] % keys["band"] == 0;
    case ShapeConstraint::kRowsFitPool:
      return keys["blocks"] > 0 && (keys["rows"] - 1) / 16 < keys["blocks"];
    case ShapeConstraint::kContextInReach: {
      constexpr std::uint64_t kReach = std::uint64_t{1} << 24;
      return keys["ctx"] <= kReach && keys["rows"] <= kReach &&
             (!keys.Has("window") || keys["window"] <= kReach);
    }
    case ShapeConstraint::kRoomForCandidates:
      return keys["v"] >= 48;
    case ShapeConstraint::kKnownHeadType:
      return keys["type"] <= 2;
  }
  return false;
}

double Operation::attribute(std::string_view attribute_name) const {
  const auto found =
      std::find_if(attributes.begin(), attributes.end(),
                   [&](const Attribute& attribute) { return attribute.name == attribute_name; });
  DM_CHECK(found != attributes.end());
  return found->value;
}

const OperandSpec* Operation::operand(std::string_view operand_name) const {
  for (const OperandSpec& spec : operands) {
    if (spec.name == operand_name) return &spec;
  }
  return nullptr;
}

std::string OperationCase::Id() const {
  CaseId id;
  id.room = CaseId::Room::kOperation;
  id.subject = std::string(operation->name);
  id.keys = keys.values();
  id.dtype = "bf16";
  id.data = std::string(DataPatternName(pattern));
  return id.ToString();
}

StatusOr<OperationCase> MakeCase(const Operation& operation, const ShapeValues& values) {
  if (values.size() != operation.keys.size()) {
    return InvalidArgumentError(fmt::format("operation {}: expected {} keys ({}), found {}",
                                            operation.name, operation.keys.size(),
                                            fmt::join(operation.keys, ","), values.size()));
  }
  std::vector<std::pair<std::string, std::uint64_t>> pairs;
  for (std::size_t i = 0; i < values.size(); ++i) pairs.emplace_back(operation.keys[i], values[i]);
  OperationCase c{.operation = &operation, .keys = ShapeKeys(std::move(pairs))};
  const auto refuse = [&](ShapeConstraint broken, std::string_view key) {
    return InvalidArgumentError(
        fmt::format("{}: {}{}{}", c.Id(), key, key.empty() ? "" : ": ", ConstraintText(broken)));
  };
  for (const ShapeConstraint constraint : operation.constraints) {
    if (!Holds(constraint, c.keys)) return refuse(constraint, "");
    for (const std::string_view key : operation.keys) {
      const bool flag = Contains(operation.flags, key);
      if (constraint == ShapeConstraint::kFlags && flag && c[key] > 1) {
        return refuse(constraint, key);
      }
      if (constraint == ShapeConstraint::kPositive && !flag && c[key] == 0 &&
          !Contains(operation.zero_ok, key)) {
        return refuse(constraint, key);
      }
    }
  }
  if (operation.derive != nullptr) operation.derive(c.keys);
  return c;
}

bool TakesPattern(const Operation& operation, DataPattern pattern) {
  if (pattern == DataPattern::kUsual) return true;
  return std::any_of(
      operation.extremes.begin(), operation.extremes.end(),
      [&](const Extreme& extreme) { return pattern != DataPattern::kNegInf || extreme.infinite; });
}

StatusOr<OperandSet> MakeOperands(const OperationCase& c) {
  OperandSet operands;
  CheckedU64 total = 0;
  for (const OperandSpec& spec : c.operation->operands) {
    if (!OperandExists(spec, c.keys)) continue;
    StatusOr<Shape> shape = OperandShape(spec, c.keys);
    if (!shape.ok()) return shape.status().Annotated(Named(c, spec.name));
    StatusOr<std::uint64_t> bytes = TensorBytes(spec.dtype, *shape);
    if (!bytes.ok()) return bytes.status().Annotated(Named(c, spec.name));
    total = total + *bytes;
    if (!total.ok() || total.value() > kLargestCaseBytes) {
      return ResourceExhaustedError(
          fmt::format("{}: its operands take more than {} bytes", c.Id(), kLargestCaseBytes));
    }
    Operand operand{std::string(spec.name), spec.dtype, spec.role, *std::move(shape),
                    std::vector<std::byte>(*bytes)};
    std::uint64_t limit = 0;
    if (!spec.limit.empty()) {
      DM_ASSIGN_OR_RETURN(limit, EvaluateDim(spec.limit, c.keys));
    }
    FillOperand(spec.fill, SeedOf(fmt::format("{}/{}", c.Id(), spec.name)), limit, operand);
    operands.Add(std::move(operand));
  }
  if (c.operation->prepare != nullptr) c.operation->prepare(c, operands);
  for (const Extreme& extreme : c.operation->extremes) {
    if (!operands.Has(extreme.operand)) continue;
    ApplyPattern(c.pattern, extreme, SeedOf(fmt::format("{}/{}/data", c.Id(), extreme.operand)),
                 operands.MutableElements<BFloat16>(extreme.operand),
                 operands.Get(extreme.operand).shape.back());
  }
  return operands;
}

StatusOr<Traffic> TrafficOf(const OperationCase& c) {
  CheckedU64 read = 0;
  CheckedU64 written = 0;
  for (const OperandSpec& spec : c.operation->operands) {
    if (!OperandExists(spec, c.keys)) continue;
    DM_ASSIGN_OR_RETURN(const Shape shape, OperandShape(spec, c.keys));
    CheckedU64 elements = 1;
    for (const std::uint64_t dim : shape) elements = elements * dim;
    if (!spec.touched.empty()) {
      DM_ASSIGN_OR_RETURN(const std::uint64_t touched, EvaluateDim(spec.touched, c.keys));
      elements = touched;
    }
    const CheckedU64 bytes = elements * (DTypeBits(spec.dtype) / 8);
    if (spec.role != OperandRole::kInput) written = written + bytes;
    // Read and written; `touched` counts both itself.
    const bool also_read = spec.role == OperandRole::kInOut && spec.touched.empty();
    if (spec.role == OperandRole::kInput || also_read) read = read + bytes;
  }
  if (!(read + written).ok()) return OutOfRangeError(c.Id() + ": its traffic exceeds 64 bits");
  return Traffic{.read = read.value(), .written = written.value()};
}

StatusOr<std::uint64_t> TrafficBytes(const OperationCase& c) {
  DM_ASSIGN_OR_RETURN(const Traffic traffic, TrafficOf(c));
  return traffic.read + traffic.written;
}

}  // namespace draftmark
