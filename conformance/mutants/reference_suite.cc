#include "conformance/mutants/check.h"
#include "src/reference/session.h"

namespace draftmark {
namespace {

StatusOr<OperationReport> JudgeBoth(const OperationCase& c) {
  DM_ASSIGN_OR_RETURN(OperationReport exact, CheckReference(c, Precision::kExact));
  if (!exact.passed()) return exact;
  return CheckReference(c, Precision::kBf16);
}

}  // namespace

StatusOr<Checks> ReferenceSuite(const std::string& golden) {
  Checks checks;
  AddOperationChecks(JudgeBoth, checks);
  DM_RETURN_IF_ERROR(AddDraftChecks(golden, {Precision::kExact, Precision::kBf16},
                                    kReferenceBackend, OpenReferenceForCase, checks));
  AddHistoryChecks(
      {.precision = Precision::kExact, .bound = 1e-9},
      [](const DrafterConfig& config, const std::shared_ptr<const DrafterWeights>& weights,
         const SessionLimits& limits) {
        return reference::OpenReferenceSession(config, weights, limits, Precision::kExact);
      },
      checks);
  AddReferenceSessionChecks(checks);
  return checks;
}

}  // namespace draftmark
