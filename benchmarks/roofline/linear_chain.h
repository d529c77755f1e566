// LinearChain: one linear layer, called many times in a row on weights that are cold each time.
//
//   DM_ASSIGN_OR_RETURN(const auto chain, LinearChain::Create(gpu, shape, /*most_rows=*/32));
//   DM_ASSIGN_OR_RETURN(const std::optional<double> seconds, chain->Time(path, /*rows=*/16));
//
// The calls stand in one graph, in the order of one stream, each with the next copy of the weights
// (PlanChain) and all with the same x and y; nothing reads y. A path gets all of them at once, and
// may launch several together, but one call ends before the next one's results begin. The graph is
// replayed behind another replay of itself, so that the host's launches cost nothing. Weights are
// random: zeros would draw less power, and be faster.
#ifndef DRAFTMARK_BENCHMARKS_ROOFLINE_LINEAR_CHAIN_H_
#define DRAFTMARK_BENCHMARKS_ROOFLINE_LINEAR_CHAIN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "benchmarks/benchmark_gpu.h"
#include "benchmarks/roofline/linear_paths.h"
#include "benchmarks/roofline/linear_shapes.h"
#include "src/base/status.h"
#include "src/cuda/device_buffer.h"

namespace draftmark {

class LinearChain {
 public:
  // The allocator's errors. `gpu` must outlive the object.
  static StatusOr<std::unique_ptr<LinearChain>> Create(BenchmarkGpu& gpu, const LinearShape& shape,
                                                       std::uint64_t most_rows);

  // Seconds of one call: the median of kReplays replays over the calls of the graph. Absent if the
  // path does not take such calls. The launcher's errors.
  static constexpr int kReplays = 20;
  StatusOr<std::optional<double>> Time(const LinearPath& path, std::uint64_t rows);

  const LinearShape& shape() const { return shape_; }

 private:
  LinearChain(BenchmarkGpu& gpu, const LinearShape& shape) : gpu_(gpu), shape_(shape) {}

  Status Allocate(std::uint64_t most_rows);
  // All calls of the graph.
  std::vector<kernels::LinearArgs> Calls(std::uint64_t rows) const;

  BenchmarkGpu& gpu_;
  const LinearShape shape_;
  ChainPlan plan_;
  DeviceBuffer weights_;  // the copies
  DeviceBuffer x_;
  DeviceBuffer y_;
  DeviceBuffer workspace_;
  DeviceBuffer counter_;  // LinearCalls'
};

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_ROOFLINE_LINEAR_CHAIN_H_
