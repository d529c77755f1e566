// Why a backend gave nothing to judge: it does not support the case (or refuses it, as it has
// announced), or it failed before there was a result. Neither is a wrong result, and neither is an
// error of whoever judges. //
//   if (report.no_result.unsupported()) ...   // skipped, with the reason
//
// A plain value; thread-safe.
#ifndef DRAFTMARK_CONFORMANCE_OPERATIONS_NO_RESULT_H_
#define DRAFTMARK_CONFORMANCE_OPERATIONS_NO_RESULT_H_

#include <string>

namespace draftmark {

struct NoResult {
  std::string reason;  // one line; empty: there is a result
  // What kind of failure, in a form that does not change from run to run: "crash", "hang", "wrote
  // outside". Empty: the case is unsupported.
  std::string kind = {};

  bool unsupported() const { return !reason.empty() && kind.empty(); }
  bool failed() const { return !kind.empty(); }
  // "run: crash", as signatures of results read; empty unless it failed.
  std::string Signature() const { return kind.empty() ? "" : "run: " + kind; }
};

}  // namespace draftmark

#endif  // DRAFTMARK_CONFORMANCE_OPERATIONS_NO_RESULT_H_
