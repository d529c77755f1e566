#include "benchmarks/replay/timed_operation.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "benchmarks/replay/replay_kernels.h"
#include "conformance/operations/check_operation.h"
#include "src/cuda/cuda_status.h"

namespace draftmark {
namespace {

constexpr std::uint64_t kGuardBytes = 256;
constexpr int kPoison = 0xFF;

std::uint64_t Aligned(std::uint64_t bytes) {
  return (bytes + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment;
}

// Repeats the first `pattern` bytes to the end; copies double.
Status RepeatOnDevice(std::byte* memory, std::uint64_t pattern, std::uint64_t bytes,
                      cudaStream_t stream) {
  for (std::uint64_t done = pattern; done < bytes;) {
    const std::uint64_t count = std::min(done, bytes - done);
    DM_RETURN_IF_ERROR(CopyOnDevice({memory + done}, {memory}, count, stream));
    done += count;
  }
  return OkStatus();
}

double FlopsOf(const OperationCase& c) { return c.operation->flops(c.keys); }

}  // namespace

StatusOr<std::unique_ptr<TimedOperation>> TimedOperation::Create(
    ReplayKit& kit, const OperationCase& c, const kernels::DeviceOperation& operation,
    const TimedOperationOptions& options) {
  std::unique_ptr<TimedOperation> timed(new TimedOperation(kit, c, operation));
  DM_RETURN_IF_ERROR(timed->Prepare(options));
  return timed;
}

Status TimedOperation::Prepare(const TimedOperationOptions& options) {
  DM_ASSIGN_OR_RETURN(const BenchmarkOperands made, MakeBenchmarkOperands(c_));
  DM_RETURN_IF_ERROR(Plan(made.operands, options.cache));
  DM_ASSIGN_OR_RETURN(const bool off, kit_.gpu().PersistingL2IsOff());
  if (!off) {
    return FailedPreconditionError("the L2 cache still keeps room for what is to persist in it");
  }
  DM_RETURN_IF_ERROR(Place(made.operands));
  DM_RETURN_IF_ERROR(FillFirst(made.operands));
  DM_RETURN_IF_ERROR(LaunchOnce(made, options));
  return Capture();
}

Status TimedOperation::Plan(const OperandSet& operands, CacheState cache) {
  DM_ASSIGN_OR_RETURN(layout_, LayOut(operands, kGuardBytes));
  DM_ASSIGN_OR_RETURN(launch_.traffic, TrafficOf(c_));
  launch_.operand_bytes = layout_.read + layout_.written;
  launch_.workspace_bytes = Aligned(operation_.workspace_bytes(c_));
  const BenchmarkGpu& gpu = kit_.gpu();
  launch_.l2_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(gpu.info().l2_bytes, 0));
  const std::uint64_t aside = 2 * layout_.written + launch_.workspace_bytes;
  launch_.memory_bytes = kit_.memory_limit() - std::min(kit_.memory_limit(), aside);
  DM_ASSIGN_OR_RETURN(plan_, PlanLaunches(launch_, cache));
  least_seconds_ =
      LeastReplaySeconds(launch_, plan_, gpu.theoretical_bytes_per_second().value_or(0)) /
      static_cast<double>(plan_.launches());
  for (const Operand& operand : operands.operands()) {
    DM_ASSIGN_OR_RETURN(const std::uint64_t bytes, TensorBytes(operand.dtype, operand.shape));
    peak_bytes_ += bytes;
  }
  peak_bytes_ += operation_.workspace_bytes(c_);
  return OkStatus();
}

Status TimedOperation::Place(const OperandSet& operands) {
  const std::uint64_t total =
      (plan_.copies + 2) * layout_.written + plan_.copies * layout_.read + launch_.workspace_bytes;
  DM_ASSIGN_OR_RETURN(written_, kit_.Memory(total));
  read_ = written_ + plan_.copies * layout_.written;
  pristine_ = read_ + plan_.copies * layout_.read;
  expected_ = pristine_ + layout_.written;
  workspace_ = expected_ + layout_.written;
  DM_RETURN_IF_ERROR(
      CudaStatus(cudaMemsetAsync(written_, kPoison, total, stream()), "cudaMemsetAsync"));
  arena_.emplace(operands, layout_, read_, written_);
  for (std::uint64_t i = 0; i < plan_.copies; ++i) {
    arena_->BeginCopy(i);
    DM_ASSIGN_OR_RETURN(kernels::DeviceOperands copy,
                        kernels::DeviceOperands::Reserve(operands, *arena_, stream(),
                                                         {.guard_bytes = kGuardBytes}));
    copies_.push_back(std::move(copy));
  }
  return OkStatus();
}

Status TimedOperation::FillFirst(const OperandSet& operands) {
  const kernels::DeviceOperands& first = copies_.front();
  for (const Operand& operand : operands.operands()) {
    if (operand.bytes.empty()) continue;
    const DeviceAddress address = first.Address(operand.name);
    DM_RETURN_IF_ERROR(CopyToDevice(address, operand.bytes, stream()));
    DM_RETURN_IF_ERROR(RepeatOnDevice(static_cast<std::byte*>(address.value), operand.bytes.size(),
                                      first.Bytes(operand.name), stream()));
  }
  DM_RETURN_IF_ERROR(CopyOnDevice({pristine_}, {written_}, layout_.written, stream()));
  DM_RETURN_IF_ERROR(
      LaunchReplicate(read_, read_ + layout_.read, layout_.read, plan_.copies - 1, stream()));
  return kit_.gpu().stream().Synchronize();  // the operands on the host may go
}

Status TimedOperation::LaunchOnce(const BenchmarkOperands& made,
                                  const TimedOperationOptions& options) {
  // Outside of the graph: code is loaded, and a library chooses its algorithm.
  DM_RETURN_IF_ERROR(Launch(copies_.front()));
  DM_RETURN_IF_ERROR(kit_.gpu().stream().Synchronize());
  DM_RETURN_IF_ERROR(CheckWritten(made.operands));
  if (made.exact && FlopsOf(c_) < options.most_judged_flops) {
    DM_RETURN_IF_ERROR(Judge(options.backend));
  }
  // What is read and written changes with every launch.
  for (std::uint64_t i = 1; i < plan_.launches_per_copy; ++i) {
    DM_RETURN_IF_ERROR(Launch(copies_.front()));
  }
  DM_RETURN_IF_ERROR(CopyOnDevice({expected_}, {written_}, layout_.written, stream()));
  return kit_.gpu().stream().Synchronize();
}

Status TimedOperation::CheckWritten(const OperandSet& operands) {
  for (const Operand& operand : operands.operands()) {
    if (operand.role != OperandRole::kOutput || operand.view().elements() == 0) continue;
    DM_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes,
                        copies_.front().Download(operand.name, stream()));
    const bool poison = std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) {
      return byte == static_cast<std::byte>(kPoison);
    });
    if (poison) {
      return InternalError(fmt::format("{}: nothing was written to {}", c_.Id(), operand.name));
    }
  }
  return OkStatus();
}

Status TimedOperation::Judge(const std::string& backend) {
  DM_ASSIGN_OR_RETURN(const OperationReport report,
                      CheckOperation(c_, Precision::kBf16, backend, SumType::kFloat32,
                                     [&](const OperationCase&, const OperandSet&) {
                                       return copies_.front().Outputs(stream());
                                     }));
  if (!report.passed()) return InternalError(ReportText(report));
  judged_ = true;
  return OkStatus();
}

Status TimedOperation::Launch(const kernels::DeviceOperands& operands) {
  const std::uint64_t bytes = operation_.workspace_bytes(c_);
  return operation_.launch(c_, operands,
                           {.workspace = bytes > 0 ? workspace_ : nullptr,
                            .workspace_bytes = bytes,
                            .cublaslt = kit_.gpu().cublaslt(),
                            .stream = stream()});
}

Status TimedOperation::Capture() {
  DM_ASSIGN_OR_RETURN(CudaGraph graph, CudaGraph::Capture(stream(), [&] {
                        for (const kernels::DeviceOperands& copy : copies_) {
                          for (std::uint64_t i = 0; i < plan_.launches_per_copy; ++i) {
                            DM_RETURN_IF_ERROR(Launch(copy));
                          }
                        }
                        return OkStatus();
                      }));
  graph_.emplace(std::move(graph));
  return OkStatus();
}

TimedFacts TimedOperation::facts() const {
  return {.bytes = static_cast<double>(launch_.traffic.read + launch_.traffic.written),
          .flops = FlopsOf(c_),
          .least_seconds = least_seconds_,
          .kernels = graph_->kernels() / plan_.launches(),
          .peak_bytes = peak_bytes_,
          .reuse_bytes = plan_.reuse_bytes,
          .launches = plan_.launches(),
          .judged = judged_};
}

StatusOr<TimedSample> TimedOperation::Run() {
  const std::uint64_t bytes = layout_.written;
  ReplayKit::Steps steps;
  steps.before = [&] {
    return LaunchReplicate(pristine_, written_, bytes, plan_.copies, stream());
  };
  steps.sweep_bytes = plan_.sweep_bytes;
  steps.timed = [&] { return graph_->Launch(stream()); };
  steps.behind = [&] {
    return LaunchCountDifferences(expected_, written_, bytes, plan_.copies, kit_.differences(),
                                  stream());
  };
  StatusOr<TimedSample> sample = kit_.Sample(steps, stream());
  if (!sample.ok()) return sample.status().Annotated(c_.Id());
  sample->seconds /= static_cast<double>(plan_.launches());
  return sample;
}

}  // namespace draftmark
