#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "benchmarks/benchmark_gpu.h"
#include "benchmarks/quantile.h"
#include "benchmarks/roofline/linear_chain.h"
#include "benchmarks/roofline/linear_paths.h"
#include "benchmarks/roofline/machine.h"
#include "benchmarks/steady_draft.h"
#include "kernels/draft/cuda_session.h"

namespace draftmark {
namespace {

MachineFacts FactsOf(const BenchmarkGpu& gpu) {
  const int runtime = gpu.info().runtime_version;
  const std::size_t library = gpu.cublaslt_version();
  return {.gpu = gpu.info().Describe(),
          .driver = gpu.driver_release(),
          .cuda = fmt::format("{}.{}", runtime / 1000, runtime % 1000 / 10),
          .cublaslt = fmt::format("{}.{}.{}", library / 10000, library / 100 % 100, library % 100),
          .copy_bytes_per_second = gpu.copy_bytes_per_second(),
          .theoretical_bytes_per_second = gpu.theoretical_bytes_per_second()};
}

class CudaRooflineMachine : public RooflineMachine {
 public:
  explicit CudaRooflineMachine(std::unique_ptr<BenchmarkGpu> gpu)
      : gpu_(std::move(gpu)), facts_(FactsOf(*gpu_)), paths_(LinearPaths(*gpu_->cublaslt())) {}

  const MachineFacts& facts() const override { return facts_; }

  StatusOr<ByPath<TimedRuns>> TimeDraft(const DraftCase& draft, std::uint64_t runs) override {
    chain_.reset();  // gives its memory back
    ByPath<TimedRuns> times;
    DM_ASSIGN_OR_RETURN(times.simple, TimePath(draft, runs, /*fast=*/false));
    DM_ASSIGN_OR_RETURN(times.fast, TimePath(draft, runs, /*fast=*/true));
    return times;
  }

  StatusOr<ByPath<double>> TimeLinear(const LinearShape& shape, std::uint64_t rows) override {
    if (chain_ == nullptr || chain_->shape().n != shape.n || chain_->shape().k != shape.k) {
      chain_.reset();
      const std::uint64_t most =
          std::max(rows, *std::max_element(std::begin(kLinearRows), std::end(kLinearRows)));
      DM_ASSIGN_OR_RETURN(chain_, LinearChain::Create(*gpu_, shape, most));
    }
    ByPath<double> seconds;
    DM_ASSIGN_OR_RETURN(const std::optional<double> simple, chain_->Time(paths_.simple, rows));
    if (!simple) return InternalError("the simple path does not take it");
    seconds.simple = *simple;
    if (paths_.fast) {
      DM_ASSIGN_OR_RETURN(seconds.fast, chain_->Time(*paths_.fast, rows));
    }
    return seconds;
  }

 private:
  StatusOr<TimedRuns> TimePath(const DraftCase& draft, std::uint64_t runs, bool fast) {
    kernels::CudaSessionOptions options;
    options.fast = fast;
    DM_ASSIGN_OR_RETURN(const std::unique_ptr<SteadyDraft> steady,
                        SteadyDraft::Open(*gpu_, draft, options));
    DM_ASSIGN_OR_RETURN(const DraftTimes times, steady->Measure(runs));
    return TimedRuns{.median_ms = Quantile(times.graph, 0.5),
                     .min_ms = times.graph.front(),
                     .p90_ms = Quantile(times.graph, 0.9),
                     .queued_ms = Quantile(times.queued, 0.5)};
  }

  const std::unique_ptr<BenchmarkGpu> gpu_;
  const MachineFacts facts_;
  const ByPath<LinearPath> paths_;
  std::unique_ptr<LinearChain> chain_;  // of the shape that was timed last
};

}  // namespace

StatusOr<std::unique_ptr<RooflineMachine>> OpenRooflineMachine() {
  DM_ASSIGN_OR_RETURN(std::unique_ptr<BenchmarkGpu> gpu, BenchmarkGpu::Create());
  return std::unique_ptr<RooflineMachine>(std::make_unique<CudaRooflineMachine>(std::move(gpu)));
}

}  // namespace draftmark
