#include "benchmarks/roofline/linear_paths.h"

#include <algorithm>
#include <cstddef>

#include "kernels/stream_chain/stream_chain_traits.h"

namespace draftmark {
namespace {

kernels::StreamLinear StepOf(const kernels::LinearArgs& call) {
  return {.x = call.x,
          .rows = call.rows,
          .k = call.k,
          .parts = {{.weight = call.weight, .bias = call.bias, .y = call.y, .n = call.n}},
          .multiplier = call.multiplier,
          .softcap = call.softcap};
}

Status LaunchOneByOne(const LinearCalls& calls, CublasLt& library, cudaStream_t stream) {
  for (const kernels::LinearArgs& call : calls.calls) {
    DM_RETURN_IF_ERROR(kernels::LaunchLinear(call, &library, stream));
  }
  return OkStatus();
}

Status LaunchChains(const LinearCalls& calls, cudaStream_t stream) {
  for (const kernels::StreamChain& chain : ChainsOf(calls.calls)) {
    DM_RETURN_IF_ERROR(kernels::LaunchStreamChain(chain, calls.counter, stream));
  }
  return OkStatus();
}

}  // namespace

std::vector<kernels::StreamChain> ChainsOf(std::span<const kernels::LinearArgs> calls) {
  constexpr std::size_t kMost = kernels::StreamChainTraits::kMostSteps;
  std::vector<kernels::StreamChain> chains;
  for (std::size_t done = 0; done < calls.size(); done += kMost) {
    kernels::StreamChain& chain = chains.emplace_back();
    for (const kernels::LinearArgs& call :
         calls.subspan(done, std::min(kMost, calls.size() - done))) {
      chain.Add(StepOf(call));
    }
  }
  return chains;
}

ByPath<LinearPath> LinearPaths(CublasLt& library) {
  return {.simple = {.takes = [](const kernels::LinearArgs&) { return true; },
                     .launch =
                         [&library](const LinearCalls& calls, cudaStream_t stream) {
                           return LaunchOneByOne(calls, library, stream);
                         }},
          .fast = LinearPath{.takes =
                                 [](const kernels::LinearArgs& call) {
                                   return kernels::StreamLinearFits(StepOf(call));
                                 },
                             .launch = LaunchChains}};
}

}  // namespace draftmark
