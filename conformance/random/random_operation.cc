#include "conformance/random/random_operation.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "conformance/random/draws.h"
#include "src/base/check.h"
#include "src/operations/registry.h"

namespace draftmark {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{8} << 20;

bool IsFlag(const Operation& operation, std::string_view key) {
  return std::find(operation.flags.begin(), operation.flags.end(), key) != operation.flags.end();
}
bool MayBeZero(const Operation& operation, std::string_view key) {
  return std::find(operation.zero_ok.begin(), operation.zero_ok.end(), key) !=
         operation.zero_ok.end();
}

std::size_t IndexOf(const Operation& operation, std::string_view key) {
  const auto found = std::find(operation.keys.begin(), operation.keys.end(), key);
  DM_CHECK(found != operation.keys.end());
  return static_cast<std::size_t>(found - operation.keys.begin());
}

// The largest value of a key that the declaration says kernels must take.
std::uint64_t LargestOf(const Operation& operation, std::size_t key) {
  std::uint64_t largest = 0;
  for (const ShapeValues& values : operation.boundary) largest = std::max(largest, values[key]);
  return largest;
}

std::uint64_t RandomSize(std::uint64_t largest, bool zero_ok, Draws& draws) {
  std::uint64_t size = 1;
  switch (draws.Below(zero_ok ? 6 : 5)) {
    case 0:  // a tile, one less, one more
      size = (std::uint64_t{1} << draws.Below(13)) + draws.Below(3) - 1;
      break;
    case 1:  // primes
      size = draws.Pick<std::uint64_t>(
          {2, 3, 5, 7, 11, 13, 17, 31, 61, 127, 251, 509, 1021, 2503, 4099, 8191});
      break;
    case 2:  // anything, small ones more often
      size = 1 + draws.Below(std::uint64_t{1} << (1 + draws.Below(10)));
      break;
    case 3:  // a multiple of 16 and what is around it
      size = 16 * (1 + draws.Below(20)) + draws.Below(3) - 1;
      break;
    case 4:
      size = draws.OneIn(4) ? largest : 1 + draws.Below(4);
      break;
    default:
      return 0;
  }
  return std::clamp<std::uint64_t>(size, 1, std::max<std::uint64_t>(1, largest));
}

// Moves sizes to where the constraints want them.
void Repair(const Operation& operation, ShapeValues& values, Draws& draws) {
  const auto value = [&](std::string_view key) -> std::uint64_t& {
    return values[IndexOf(operation, key)];
  };
  for (const ShapeConstraint constraint : operation.constraints) {
    switch (constraint) {
      case ShapeConstraint::kKvHeadsDivideHeads:
        value("kv") = 1 + draws.Below(6);
        value("heads") = value("kv") * (1 + draws.Below(9));
        break;
      case ShapeConstraint::kGroupDividesWidth:
        value("group") = std::min(value("group"), value("h"));
        value("h") -= value("h") % value("group");
        break;
      case ShapeConstraint::kRotaryEven:
        value("d") = std::max<std::uint64_t>(2, value("d") - value("d") % 2);
        value("rotary") =
            std::clamp<std::uint64_t>(value("rotary") - value("rotary") % 2, 2, value("d"));
        break;
      case ShapeConstraint::kBandDividesRows:
        value("band") = std::min(value("band"), value("rows"));
        value("rows") -= value("rows") % value("band");
        break;
      case ShapeConstraint::kRowsFitPool:
        value("blocks") = std::max(value("blocks"), (value("rows") + 15) / 16);
        break;
      case ShapeConstraint::kRoomForCandidates:
        value("v") = std::max<std::uint64_t>(48, value("v"));
        break;
      case ShapeConstraint::kKnownHeadType:
        value("type") = draws.Below(3);
        break;
      case ShapeConstraint::kPositive:
      case ShapeConstraint::kFlags:
      case ShapeConstraint::kRotaryWithinHead:
      case ShapeConstraint::kContextInReach:
        break;
    }
  }
}

bool Affordable(const OperationCase& c, double most_flops) {
  if (c.operation->flops(c.keys) > most_flops) return false;
  std::uint64_t bytes = 0;
  for (const OperandSpec& spec : c.operation->operands) {
    if (!OperandExists(spec, c.keys)) continue;
    const StatusOr<Shape> shape = OperandShape(spec, c.keys);
    if (!shape.ok()) return false;
    const StatusOr<std::uint64_t> of_operand = TensorBytes(spec.dtype, *shape);
    if (!of_operand.ok() || *of_operand > kMostBytes) return false;
    bytes += *of_operand;
  }
  return bytes <= kMostBytes;
}

std::optional<OperationCase> Attempt(const Operation& operation, Draws& draws) {
  ShapeValues values;
  for (std::size_t k = 0; k < operation.keys.size(); ++k) {
    const std::string_view key = operation.keys[k];
    values.push_back(IsFlag(operation, key)
                         ? draws.Below(2)
                         : RandomSize(LargestOf(operation, k), MayBeZero(operation, key), draws));
  }
  Repair(operation, values, draws);
  StatusOr<OperationCase> c = MakeCase(operation, values);
  if (!c.ok()) return std::nullopt;
  return *std::move(c);
}

// With what a case of `c`'s operation has at most, other sizes and the same data.
std::optional<OperationCase> WithValue(const OperationCase& c, std::size_t key,
                                       std::uint64_t value) {
  ShapeValues values;
  for (const auto& [name, size] : c.keys.values()) values.push_back(size);
  values[key] = value;
  StatusOr<OperationCase> changed = MakeCase(*c.operation, values);
  if (!changed.ok()) return std::nullopt;
  changed->pattern = c.pattern;
  return *std::move(changed);
}

}  // namespace

OperationCase RandomOperation(std::uint64_t seed, double most_flops) {
  Draws draws(seed);
  const Operation& operation = AllOperations()[draws.Below(AllOperations().size())];
  std::vector<DataPattern> patterns;
  for (const DataPattern pattern : AllDataPatterns()) {
    if (TakesPattern(operation, pattern)) patterns.push_back(pattern);
  }
  const DataPattern pattern = draws.OneIn(3) ? DataPattern::kUsual : draws.Pick(patterns);
  // Some shapes of many are too large or do not exist.
  constexpr int kAttempts = 200;
  for (int i = 0; i < kAttempts; ++i) {
    std::optional<OperationCase> c = Attempt(operation, draws);
    if (!c || !Affordable(*c, most_flops)) continue;
    c->pattern = pattern;
    return *std::move(c);
  }
  OperationCase smallest = BoundaryCases(operation).front();
  smallest.pattern = pattern;
  return smallest;
}

std::vector<OperationCase> SimplerOperations(const OperationCase& c) {
  std::vector<OperationCase> simpler;
  const auto offer = [&](std::optional<OperationCase> candidate) {
    if (candidate) simpler.push_back(*std::move(candidate));
  };
  for (const DataPattern pattern : AllDataPatterns()) {
    // What kMixed is made of comes before it.
    if (pattern == c.pattern) break;
    if (!TakesPattern(*c.operation, pattern)) continue;
    OperationCase changed = c;
    changed.pattern = pattern;
    simpler.push_back(std::move(changed));
  }
  const std::vector<std::pair<std::string, std::uint64_t>>& sizes = c.keys.values();
  for (const std::uint64_t divisor : {0u, 8u, 2u}) {
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const std::uint64_t size = sizes[k].second;
      const std::uint64_t less = divisor == 0 ? (MayBeZero(*c.operation, sizes[k].first) ||
                                                         IsFlag(*c.operation, sizes[k].first)
                                                     ? 0
                                                     : 1)
                                              : size / divisor;
      if (less < size) offer(WithValue(c, k, less));
    }
  }
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    // A constraint may want steps of more than one.
    for (std::uint64_t step = 16; step > 0; --step) {
      if (step <= sizes[k].second) offer(WithValue(c, k, sizes[k].second - step));
    }
  }
  return simpler;
}

}  // namespace draftmark
