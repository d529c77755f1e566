#include "src/cuda/graph.h"

#include "src/cuda/cuda_status.h"

namespace draftmark {

StatusOr<CudaGraph> CudaGraph::Capture(cudaStream_t stream,
                                       const std::function<Status()>& enqueue) {
  DM_RETURN_IF_ERROR(CudaStatus(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal),
                                "cudaStreamBeginCapture"));
  const Status enqueued = enqueue();
  cudaGraph_t captured = nullptr;
  // Also after an error: it ends the capture.
  const Status ended = CudaStatus(cudaStreamEndCapture(stream, &captured), "cudaStreamEndCapture");
  struct DestroyTemplate {
    void operator()(cudaGraph_t graph) const { (void)cudaGraphDestroy(graph); }
  };
  const std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyTemplate> owned(captured);
  if (!enqueued.ok() || !ended.ok()) {
    (void)cudaGetLastError();  // the capture's failure must not be taken for the next call's
    return enqueued.ok() ? ended : enqueued;
  }
  cudaGraphExec_t graph = nullptr;
  DM_RETURN_IF_ERROR(
      CudaStatus(cudaGraphInstantiate(&graph, captured, /*flags=*/0), "cudaGraphInstantiate"));
  return CudaGraph(graph);
}

Status CudaGraph::Launch(cudaStream_t stream) const {
  return CudaStatus(cudaGraphLaunch(graph_.get(), stream), "cudaGraphLaunch");
}

}  // namespace draftmark
