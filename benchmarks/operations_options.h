// The command line of operations_benchmark.
//
//   DM_ASSIGN_OR_RETURN(const OperationsOptions options, TakeOperationsOptions(arguments));
//   std::cout << OperationsHelp();
//
// Pure.
#ifndef DRAFTMARK_BENCHMARKS_OPERATIONS_OPTIONS_H_
#define DRAFTMARK_BENCHMARKS_OPERATIONS_OPTIONS_H_

#include <string>
#include <vector>

#include "benchmarks/launch_plan.h"
#include "benchmarks/operation_shapes.h"
#include "benchmarks/sampling.h"
#include "src/base/status.h"

namespace draftmark {

struct OperationsOptions {
  Suite suite = Suite::kAll;
  CacheState cache = CacheState::kCold;
  SamplingOptions sampling;
  bool judge = true;  // small cases by their oracle
  std::string catalogue;
  std::string samples_out;
  std::string plugin;  // empty: our own kernels
  bool beside = false;
  double time_limit = 60;  // seconds that one call of a plug-in may take
  bool serve = false;      // as the process in which another one times the plug-in
};

// Takes them out of the arguments, the first of which is the program. INVALID_ARGUMENT names the
// option.
StatusOr<OperationsOptions> TakeOperationsOptions(std::vector<std::string>& arguments);

std::string OperationsHelp();

// What starts this program again, to serve with the same options.
std::vector<std::string> ServiceCommand(const OperationsOptions& options);

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_OPERATIONS_OPTIONS_H_
