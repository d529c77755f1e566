// Judges one operation case: whoever computes it against the oracle of its declaration, within the
// error model of its class (spec/drafter.md section 10).
//
//   DM_ASSIGN_OR_RETURN(const OperationCase c, FindCase("op/rms_norm/rows=16,h=4096/bf16"));
//   DM_ASSIGN_OR_RETURN(const OperationReport r, CheckReference(c, Precision::kBf16));
//   r.passed(), r.UsedShare()   // true, 0.49: of the bound that the class allows
//
// exact: every element within 1e-12 of its terms. bf16: within the class bound; a reference that
// sums in float64 must in addition be the oracle's own rounding. Functions are thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_OPERATIONS_CHECK_OPERATION_H_
#define DRAFTMARK_CONFORMANCE_OPERATIONS_CHECK_OPERATION_H_

#include <functional>
#include <string>
#include <vector>

#include "conformance/operations/no_result.h"
#include "src/backend/draft_session.h"
#include "src/base/json.h"
#include "src/base/status.h"
#include "src/compare/tolerance.h"
#include "src/operations/operation.h"

namespace draftmark {

struct OutputVerdict {
  std::string output;
  ErrorModel model;
  Shape shape;
  BoundedComparison comparison;
  std::string failure;  // empty = passed
  // What kind of failure: "missing", "size", "unknown", "not representable", "bound", "rounding"
  // (within the class bound, but not the one rounding of a float64 sum). Empty = passed.
  std::string kind;
};

struct OperationReport {
  std::string id;
  std::string backend;
  Precision precision = Precision::kExact;
  std::vector<OutputVerdict> verdicts;  // one for each output, in declaration order
  NoResult no_result = {};              // of a plug-in: set where there is nothing to judge

  bool passed() const;
  // "OUTPUT: KIND" of the first output that is off: stable text for conformance/expectations. Empty
  // if all passed.
  std::string Signature() const;
  // Of the class bound, by the worst element of all outputs. 0 where all outputs are exact.
  double UsedShare() const;
};

// Computes the outputs of a case from its operands, as float64.
using RunOperation =
    std::function<StatusOr<OperandValues>(const OperationCase& c, const OperandSet& operands)>;

// How a backend sums: decides how close it must come in bf16.
enum class SumType { kFloat64, kFloat32 };

// Errors: a case whose operands do not fit, or what `run` returns. A wrong result is no error but a
// failed verdict; so is an output that is missing, of another size, or not one of the operation's.
StatusOr<OperationReport> CheckOperation(const OperationCase& c, Precision precision,
                                         const std::string& backend, SumType sums,
                                         const RunOperation& run);
StatusOr<OperationReport> CheckReference(const OperationCase& c, Precision precision);

// One line for a pass; for a failure each output that is off with its worst element, the histogram
// and the reproducing command. Ends with a newline.
std::string ReportText(const OperationReport& report);
OrderedJson ReportJson(const OperationReport& report);

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_OPERATIONS_CHECK_OPERATION_H_
