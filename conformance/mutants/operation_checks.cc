#include <fmt/format.h>

#include "conformance/mutants/check.h"
#include "src/operations/registry.h"

namespace draftmark {
namespace {

// The suite runs for every mutant: cases beyond this cost more than all others together, and
// nothing shows in them that the smaller ones do not have.
constexpr double kLargestFlops = 1e6;
constexpr std::uint64_t kLargestBytes = 1 << 18;

}  // namespace

void AddOperationChecks(
    const std::function<StatusOr<OperationReport>(const OperationCase& c)>& judge, Checks& checks) {
  for (const Operation& operation : AllOperations()) {
    checks.push_back({fmt::format("op/{}", operation.name), [&operation, judge]() -> Status {
                        std::size_t judged = 0;
                        for (const OperationCase& c : BoundaryCases(operation)) {
                          DM_ASSIGN_OR_RETURN(const std::uint64_t bytes, TrafficBytes(c));
                          if (operation.flops(c.keys) > kLargestFlops || bytes > kLargestBytes)
                            continue;
                          ++judged;
                          DM_ASSIGN_OR_RETURN(const OperationReport report, judge(c));
                          if (!report.passed()) {
                            return InternalError(fmt::format("{}: {}", report.Signature(), c.Id()));
                          }
                        }
                        if (judged == 0) return InternalError("no case is small enough");
                        return OkStatus();
                      }});
  }
}

}  // namespace draftmark
