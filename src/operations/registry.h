// The registry: every operation of a drafter's forward, each declared once.
//
//   for (const Operation& operation : AllOperations()) ...
//   DM_ASSIGN_OR_RETURN(const OperationCase c, FindCase("op/rms_norm/rows=16,h=4096/bf16"));
//
// Built on first use, immutable, thread-safe.
#ifndef DRAFTMARK_SRC_OPERATIONS_REGISTRY_H_
#define DRAFTMARK_SRC_OPERATIONS_REGISTRY_H_

#include <span>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/operations/operation.h"

namespace draftmark {

// In the order in which data flow through a draft.
std::span<const Operation> AllOperations();
// Null if there is none of that name.
const Operation* FindOperation(std::string_view name);
// The case of an id. NOT_FOUND for an unknown operation, INVALID_ARGUMENT for keys in another order,
// another dtype, a shape that does not exist or data that the operation does not take.
StatusOr<OperationCase> FindCase(std::string_view id);
// The boundary cases of an operation.
std::vector<OperationCase> BoundaryCases(const Operation& operation);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_OPERATIONS_REGISTRY_H_
