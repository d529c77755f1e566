#include "src/cuda/graph.h"

#include <atomic>
#include <vector>

#include "src/base/catch_exhausted.h"
#include "src/cuda/cuda_status.h"

namespace draftmark {
namespace {

std::atomic<std::uint64_t> kernels_launched = 0;

StatusOr<std::size_t> CountKernels(cudaGraph_t graph) {
  std::size_t count = 0;
  DM_RETURN_IF_ERROR(CudaStatus(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes"));
  std::vector<cudaGraphNode_t> nodes(count);
  DM_RETURN_IF_ERROR(
      CudaStatus(cudaGraphGetNodes(graph, nodes.data(), &count), "cudaGraphGetNodes"));
  std::size_t kernels = 0;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    DM_RETURN_IF_ERROR(CudaStatus(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType"));
    kernels += type == cudaGraphNodeTypeKernel ? 1 : 0;
  }
  return kernels;
}

}  // namespace

StatusOr<CudaGraph> CudaGraph::Capture(cudaStream_t stream,
                                       const std::function<Status()>& enqueue) {
  DM_RETURN_IF_ERROR(CudaStatus(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                                "cudaStreamBeginCapture"));
  // An exception would leave the stream capturing for ever.
  const Status enqueued = CatchExhausted("graph capture", enqueue);
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
  DM_ASSIGN_OR_RETURN(const std::size_t kernels, CountKernels(captured));
  cudaGraphExec_t graph = nullptr;
  DM_RETURN_IF_ERROR(
      CudaStatus(cudaGraphInstantiate(&graph, captured, /*flags=*/0), "cudaGraphInstantiate"));
  return CudaGraph(graph, kernels);
}

Status CudaGraph::Launch(cudaStream_t stream) const {
  DM_RETURN_IF_ERROR(CudaStatus(cudaGraphLaunch(graph_.get(), stream), "cudaGraphLaunch"));
  kernels_launched += kernels_;
  return OkStatus();
}

std::uint64_t CudaGraph::KernelsLaunched() { return kernels_launched; }

}  // namespace draftmark
