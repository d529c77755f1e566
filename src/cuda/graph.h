// CudaGraph: work captured once and launched many times.
//
//   DM_ASSIGN_OR_RETURN(const CudaGraph graph,
//                       CudaGraph::Capture(stream, [&] { return EnqueueDraft(stream); }));
//   DM_RETURN_IF_ERROR(graph.Launch(stream));
//
// Movable, not copyable. Launch belongs to one thread at a time. Errors are those of CudaStatus.
#ifndef DRAFTMARK_SRC_CUDA_GRAPH_H_
#define DRAFTMARK_SRC_CUDA_GRAPH_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>

#include "src/base/status.h"

namespace draftmark {

class CudaGraph {
 public:
  // Captures what `enqueue` puts on `stream`. An allocation or a wait by this thread meanwhile
  // fails the capture. Other threads may allocate, and wait for streams of their own, as for
  // opening a session; for the whole device (SynchronizeDevice) nobody may wait. Nothing runs. An
  // error of `enqueue` is returned as it is, and the stream is usable again after any error.
  static StatusOr<CudaGraph> Capture(cudaStream_t stream, const std::function<Status()>& enqueue);

  Status Launch(cudaStream_t stream) const;

  // Kernels of one launch; those of graphs inside it are not counted.
  std::size_t kernels() const { return kernels_; }
  // Of all graphs that this process has launched so far: what a benchmark takes the difference of,
  // around work that owns its graphs. Thread-safe.
  static std::uint64_t KernelsLaunched();

 private:
  struct Destroy {
    void operator()(cudaGraphExec_t graph) const { (void)cudaGraphExecDestroy(graph); }
  };

  CudaGraph(cudaGraphExec_t graph, std::size_t kernels) : graph_(graph), kernels_(kernels) {}

  std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, Destroy> graph_;
  std::size_t kernels_ = 0;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CUDA_GRAPH_H_
