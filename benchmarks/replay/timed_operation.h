// TimedOperation: one case of the registry, replayed on the GPU as launch_plan.h says.
//
//   DM_ASSIGN_OR_RETURN(const auto timed, TimedOperation::Create(kit, c, *operation, {}));
//   DM_ASSIGN_OR_RETURN(const SampledRun run, TakeSamples(*timed, monitor, watch, {}));
//
// A sample is one replay of a graph, its time that of one launch in it. Timed calls are checked
// calls: before each replay all that the launches write is poisoned (0xFF bytes; what they read and
// write gets its first values back), and behind it every copy must hold, guard bands included, the
// bits that a launch outside of the graph has left on the first. That launch must have written
// every output, and small cases are judged by conformance against their oracle.
//
// Errors: UNIMPLEMENTED without a kernel; FAILED_PRECONDITION where the operands cannot be proved
// to be cold or warm; INTERNAL for wrong results; those of CUDA. One at a time for a kit.
#ifndef DRAFTMARK_BENCHMARKS_REPLAY_TIMED_OPERATION_H_
#define DRAFTMARK_BENCHMARKS_REPLAY_TIMED_OPERATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/launch_plan.h"
#include "benchmarks/replay/benchmark_operands.h"
#include "benchmarks/replay/operand_arena.h"
#include "benchmarks/replay/replay_kit.h"
#include "benchmarks/sampling.h"
#include "kernels/registry/device_operations.h"
#include "src/base/status.h"
#include "src/cuda/graph.h"
#include "src/operations/operation.h"

namespace draftmark {

struct TimedOperationOptions {
  CacheState cache = CacheState::kCold;
  // Cases of more operations, or with operands that are not those of conformance, are not judged by
  // their oracle, which computes on the CPU. 0: none are.
  double most_judged_flops = 5e6;
  std::string backend = "cuda";  // whose operation it is, for the report of a wrong result
};

class TimedOperation final : public TimedWork {
 public:
  static StatusOr<std::unique_ptr<TimedOperation>> Create(ReplayKit& kit, const OperationCase& c,
                                                          const kernels::DeviceOperation& operation,
                                                          const TimedOperationOptions& options);

  StatusOr<TimedSample> Run() override;
  double LeastSeconds() const override { return least_seconds_; }

  const LaunchPlan& plan() const { return plan_; }
  TimedFacts facts() const;

 private:
  TimedOperation(ReplayKit& kit, const OperationCase& c, const kernels::DeviceOperation& operation)
      : kit_(kit), c_(c), operation_(operation) {}

  Status Prepare(const TimedOperationOptions& options);
  Status Plan(const OperandSet& operands, CacheState cache);
  Status Place(const OperandSet& operands);
  Status FillFirst(const OperandSet& operands);
  // Judges unless the options forbid it or it cannot be.
  Status LaunchOnce(const BenchmarkOperands& made, const TimedOperationOptions& options);
  Status CheckWritten(const OperandSet& operands);
  Status Judge(const std::string& backend);
  Status Launch(const kernels::DeviceOperands& operands);
  Status Capture();

  cudaStream_t stream() const { return kit_.gpu().stream().get(); }

  ReplayKit& kit_;
  const OperationCase c_;
  const kernels::DeviceOperation& operation_;
  OperandLayout layout_;
  LaunchFacts launch_;
  LaunchPlan plan_;
  // Parts of the kit's memory.
  std::byte* written_ = nullptr;   // of all copies
  std::byte* read_ = nullptr;      // of all copies
  std::byte* pristine_ = nullptr;  // what one copy holds before a launch, of what launches write
  std::byte* expected_ = nullptr;  // and behind it
  std::byte* workspace_ = nullptr;
  std::optional<OperandArena> arena_;
  std::vector<kernels::DeviceOperands> copies_;  // in the arena
  std::optional<CudaGraph> graph_;
  std::uint64_t peak_bytes_ = 0;
  double least_seconds_ = 0;
  bool judged_ = false;
};

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_REPLAY_TIMED_OPERATION_H_
