// By which launchers the linear layers of a roofline are timed: the place to add one.
//
//   const ByPath<LinearPath> paths = LinearPaths(library);
//   if (paths.fast->takes(call)) DM_RETURN_IF_ERROR(paths.fast->launch({calls, counter}, stream));
#ifndef DRAFTMARK_BENCHMARKS_ROOFLINE_LINEAR_PATHS_H_
#define DRAFTMARK_BENCHMARKS_ROOFLINE_LINEAR_PATHS_H_

#include <functional>
#include <span>
#include <vector>

#include "benchmarks/roofline/by_path.h"
#include "kernels/linear/linear.h"
#include "kernels/stream_chain/stream_chain.h"
#include "src/base/status.h"
#include "src/cuda/cublaslt.h"

namespace draftmark {

// All calls of a graph, of one shape. They run one behind the other, though none reads what another
// has written.
struct LinearCalls {
  std::span<const kernels::LinearArgs> calls;  // workspace as LaunchLinear wants it
  unsigned* counter = nullptr;                 // on the device; zero before and after
};

struct LinearPath {
  // Whether the path, on the current device, computes such a call. Addresses count, too.
  std::function<bool(const kernels::LinearArgs& call)> takes;
  // Enqueues y = x W^T for every call. Called while a graph is captured.
  std::function<Status(const LinearCalls& calls, cudaStream_t stream)> launch;
};

// What drafts launch on their two paths: LaunchLinear for each call, and streaming chains of them,
// for up to 16 rows on sm_90. `library` must outlive the paths.
ByPath<LinearPath> LinearPaths(CublasLt& library);

// The calls in their order, in chains of as many steps as a launch takes; the last one may be shorter.
std::vector<kernels::StreamChain> ChainsOf(std::span<const kernels::LinearArgs> calls);

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_ROOFLINE_LINEAR_PATHS_H_
