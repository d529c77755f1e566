#include "src/operations/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <optional>

#include "src/cases/case_id.h"
#include "src/operations/support.h"

namespace draftmark {
namespace {

std::vector<Operation> Declarations() {
  std::vector<Operation> all;
  for (auto* const declare :
       {operations::ProjectionOperations, operations::NormOperations, operations::CacheOperations,
        operations::MlpOperations, operations::TokenOperations, operations::HeadOperations}) {
    std::vector<Operation> some = declare();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace

std::span<const Operation> AllOperations() {
  static const std::vector<Operation> operations = Declarations();
  return operations;
}

const Operation* FindOperation(std::string_view name) {
  for (const Operation& operation : AllOperations()) {
    if (operation.name == name) return &operation;
  }
  return nullptr;
}

StatusOr<OperationCase> FindCase(std::string_view id) {
  DM_ASSIGN_OR_RETURN(const CaseId parsed, ParseCaseId(id));
  const Operation* const operation =
      parsed.room == CaseId::Room::kOperation ? FindOperation(parsed.subject) : nullptr;
  if (operation == nullptr) {
    return NotFoundError(fmt::format("\"{}\" is no case of a known operation", id));
  }
  if (parsed.dtype != "bf16") {
    return InvalidArgumentError(fmt::format("{}: expected dtype bf16, found {}", id, parsed.dtype));
  }
  ShapeValues values;
  for (std::size_t i = 0; i < parsed.keys.size(); ++i) {
    if (i < operation->keys.size() && parsed.keys[i].first != operation->keys[i]) {
      return InvalidArgumentError(fmt::format("{}: expected the keys {}, found {} in place of {}",
                                              id, fmt::join(operation->keys, ","),
                                              parsed.keys[i].first, operation->keys[i]));
    }
    values.push_back(parsed.keys[i].second);
  }
  DM_ASSIGN_OR_RETURN(OperationCase c, MakeCase(*operation, values));
  const std::optional<DataPattern> pattern = FindDataPattern(parsed.data);
  if (!pattern || !TakesPattern(*operation, *pattern)) {
    std::vector<std::string_view> known;
    for (const DataPattern one : AllDataPatterns()) {
      if (one != DataPattern::kUsual && TakesPattern(*operation, one)) {
        known.push_back(DataPatternName(one));
      }
    }
    return InvalidArgumentError(fmt::format(
        "{}: expected as data {}, found {}", id,
        known.empty() ? "nothing" : fmt::format("one of {}", fmt::join(known, ", ")), parsed.data));
  }
  c.pattern = *pattern;
  return c;
}

std::vector<OperationCase> BoundaryCases(const Operation& operation) {
  std::vector<OperationCase> cases;
  for (const ShapeValues& values : operation.boundary) {
    StatusOr<OperationCase> c = MakeCase(operation, values);
    DM_CHECK(c.ok());  // a declaration that lists a shape it forbids is a bug
    cases.push_back(*std::move(c));
  }
  return cases;
}

}  // namespace draftmark
