// How fast the CUDA operations are at the shapes of published drafters, against what the memory of
// the same GPU can do in the same process.
//
//   bazel run //benchmarks:operations_benchmark -- --benchmark_filter=rms_norm
//
// Time is the GPU's: a CUDA graph of one launch for each of several copies of the operands is
// replayed between two events, and the elapsed time is divided by the copies. That leaves out the
// host's cost of a launch, and keeps in the few hundred nanoseconds between kernels of a graph. The
// copies together are at least twice the L2 cache where memory and kMostCopies allow it (counter
// `cold` = 1); otherwise operands may be read from L2, and copy_share may exceed 1.
//
// Counters: bytes/s of the traffic that the operation cannot avoid (TrafficBytes), flops/s, and
// copy_share, bytes/s as a share of a device-to-device copy's read and write bandwidth.
#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/benchmark_context.h"
#include "benchmarks/benchmark_gpu.h"
#include "kernels/registry/device_operations.h"
#include "src/base/status.h"
#include "src/cuda/cuda_status.h"
#include "src/cuda/device_buffer.h"
#include "src/operations/operation.h"
#include "src/operations/registry.h"

namespace draftmark {
namespace {

// Qwen3-8B's drafter (h 4096, 32 heads and 8 KV heads of 128, MLP 12288, 5 taps), a block of 16.
constexpr std::string_view kCases[] = {
    "op/embed/rows=16,v=151936,h=4096,mask=0/bf16",
    "op/row_gather/rows=16,from=256,width=20480/bf16",
    "op/linear/rows=16,n=4096,k=20480,bias=0,cap=0/bf16",   // fc
    "op/linear/rows=16,n=10240,k=4096,bias=0,cap=0/bf16",   // fused KV of 5 layers
    "op/linear/rows=16,n=4096,k=4096,bias=0,cap=0/bf16",    // q, o
    "op/linear/rows=16,n=1024,k=4096,bias=0,cap=0/bf16",    // k, v
    "op/linear/rows=16,n=12288,k=4096,bias=0,cap=0/bf16",   // gate, up
    "op/linear/rows=16,n=4096,k=12288,bias=0,cap=0/bf16",   // down
    "op/linear/rows=16,n=151936,k=4096,bias=0,cap=0/bf16",  // lm_head
    "op/kv_split/rows=16,layers=5,kv=1024/bf16",
    "op/rms_norm/rows=16,h=4096/bf16",
    "op/rms_norm/rows=256,h=4096/bf16",
    "op/head_norm/rows=16,heads=32,d=128/bf16",
    "op/rope/rows=16,heads=32,d=128,rotary=128,half_head=0/bf16",
    "op/slot_fill/rows=128,band=16,ctx=4096/bf16",
    "op/kv_write/rows=16,kv=8,d=128,blocks=64/bf16",
    "op/paged_attention/rows=16,heads=32,kv=8,d=128,ctx=1024,window=0,causal=0,sink=0/bf16",
    "op/paged_attention/rows=16,heads=32,kv=8,d=128,ctx=4096,window=0,causal=0,sink=0/bf16",
    "op/paged_attention/rows=16,heads=32,kv=8,d=128,ctx=16384,window=0,causal=0,sink=0/bf16",
    "op/silu_mul/rows=16,width=12288/bf16",
    "op/residual_add/rows=16,width=4096/bf16",
    "op/conv_prepare/rows=16,h=4096,taps=2,group=16,band=16/bf16",
    "op/conv_finish/rows=16,h=4096,taps=2,group=16,band=16/bf16",
    "op/argmax/rows=16,v=151936/bf16",
    "op/top16/rows=16,v=151936/bf16",
    "op/selector_walk/rows=16,band=16,v=151936,r=256/bf16",
    "op/markov_step/rows=1,v=151936,r=256,h=4096,type=0/bf16",
    "op/markov_step/rows=8,v=151936,r=256,h=4096,type=0/bf16",
    "op/confidence/rows=16,h=4096,r=256/bf16",
    // Qwen3-4B's (h 2560, MLP 9728), a block of 7
    "op/linear/rows=7,n=2560,k=12800,bias=0,cap=0/bf16",
    "op/linear/rows=7,n=4096,k=2560,bias=0,cap=0/bf16",
    "op/linear/rows=7,n=9728,k=2560,bias=0,cap=0/bf16",
    "op/linear/rows=7,n=2560,k=9728,bias=0,cap=0/bf16",
    "op/linear/rows=7,n=151936,k=2560,bias=0,cap=0/bf16",
    "op/rms_norm/rows=7,h=2560/bf16",
    "op/silu_mul/rows=7,width=9728/bf16",
    "op/paged_attention/rows=7,heads=32,kv=8,d=128,ctx=4096,window=0,causal=0,sink=0/bf16",
};

constexpr std::int64_t kReplays = 30;       // measured, of one graph
constexpr int kWarmUps = 3;                 // replays before
constexpr std::uint64_t kMostCopies = 512;  // nodes of a graph, and allocations
constexpr std::uint64_t kMostCopiedBytes = std::uint64_t{8} << 30;

// One case on the GPU: copies of its operands, and a graph that launches each once.
class RotatedCase {
 public:
  RotatedCase(BenchmarkGpu& gpu, OperationCase c) : gpu_(gpu), c_(std::move(c)) {}
  RotatedCase(const RotatedCase&) = delete;
  RotatedCase& operator=(const RotatedCase&) = delete;
  ~RotatedCase() {
    if (program_ != nullptr) (void)cudaGraphExecDestroy(program_);
    if (graph_ != nullptr) (void)cudaGraphDestroy(graph_);
  }

  Status Prepare() {
    operation_ = kernels::FindDeviceOperation(c_.operation->name);
    if (operation_ == nullptr) return UnimplementedError("no CUDA kernel");
    DM_ASSIGN_OR_RETURN(traffic_, TrafficBytes(c_));
    DM_ASSIGN_OR_RETURN(const OperandSet operands, MakeOperands(c_));
    std::uint64_t bytes = 0;
    for (const Operand& operand : operands.operands()) bytes += operand.bytes.size();
    const std::uint64_t wanted =
        2 * static_cast<std::uint64_t>(gpu_.info().l2_bytes) / traffic_ + 1;
    const std::uint64_t copies =
        std::max<std::uint64_t>(1, std::min({wanted, kMostCopies, kMostCopiedBytes / bytes}));
    cold_ = copies >= wanted;
    for (std::uint64_t i = 0; i < copies; ++i) {
      DM_ASSIGN_OR_RETURN(
          kernels::DeviceOperands copy,
          kernels::DeviceOperands::Upload(operands, gpu_.allocator(), gpu_.stream().get(),
                                          {.guard_bytes = 256}));
      copies_.push_back(std::move(copy));
    }
    DM_ASSIGN_OR_RETURN(workspace_, DeviceBuffer::Create(gpu_.allocator(),
                                                         {.bytes = operation_->workspace_bytes(c_),
                                                          .tag = "workspace"}));
    // Outside of the graph first: code is loaded, and the library chooses its algorithm.
    DM_RETURN_IF_ERROR(Launch(copies_.front()));
    DM_RETURN_IF_ERROR(gpu_.stream().Synchronize());
    return Capture();
  }

  Status Replay() { return CudaStatus(cudaGraphLaunch(program_, gpu_.stream().get()), "replay"); }

  std::uint64_t traffic() const { return traffic_; }
  double flops() const { return c_.operation->flops(c_.keys); }
  std::size_t copies() const { return copies_.size(); }
  bool cold() const { return cold_; }

 private:
  Status Launch(const kernels::DeviceOperands& operands) {
    return operation_->launch(c_, operands,
                              {.workspace = workspace_.address().value,
                               .workspace_bytes = workspace_.bytes(),
                               .cublaslt = gpu_.cublaslt(),
                               .stream = gpu_.stream().get()});
  }

  Status Capture() {
    const cudaStream_t stream = gpu_.stream().get();
    DM_RETURN_IF_ERROR(CudaStatus(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                                  "begin of capture"));
    Status launched;
    for (const kernels::DeviceOperands& copy : copies_) {
      if (launched.ok()) launched = Launch(copy);
    }
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph_);
    DM_RETURN_IF_ERROR(launched);
    DM_RETURN_IF_ERROR(CudaStatus(ended, "end of capture"));
    return CudaStatus(cudaGraphInstantiate(&program_, graph_, 0), "cudaGraphInstantiate");
  }

  BenchmarkGpu& gpu_;
  const OperationCase c_;
  const kernels::DeviceOperation* operation_ = nullptr;
  std::vector<kernels::DeviceOperands> copies_;
  DeviceBuffer workspace_;
  std::uint64_t traffic_ = 0;
  bool cold_ = false;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t program_ = nullptr;
};

Status Measure(BenchmarkGpu& gpu, const OperationCase& c, benchmark::State& state) {
  RotatedCase rotated(gpu, c);
  DM_RETURN_IF_ERROR(rotated.Prepare());
  DM_RETURN_IF_ERROR(gpu.ResetPersistingL2());
  for (int i = 0; i < kWarmUps; ++i) DM_RETURN_IF_ERROR(rotated.Replay());
  Status status;
  for ([[maybe_unused]] auto iteration : state) {
    const StatusOr<double> seconds = gpu.Seconds([&] { return rotated.Replay(); });
    if (!seconds.ok() && status.ok()) status = seconds.status();
    state.SetIterationTime(seconds.ok() ? *seconds / static_cast<double>(rotated.copies()) : 0);
  }
  using benchmark::Counter;
  const auto rate = [&](double each) {
    return Counter(each * static_cast<double>(state.iterations()), Counter::kIsRate);
  };
  const auto traffic = static_cast<double>(rotated.traffic());
  state.counters["bytes/s"] = rate(traffic);
  state.counters["flops/s"] = rate(rotated.flops());
  state.counters["copy_share"] = rate(traffic / gpu.copy_bytes_per_second());
  state.counters["copies"] = static_cast<double>(rotated.copies());
  state.counters["cold"] = rotated.cold() ? 1 : 0;
  return status;
}

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const StatusOr<std::unique_ptr<BenchmarkGpu>> gpu = BenchmarkGpu::Create();
  if (!gpu.ok()) {
    std::cerr << "operations_benchmark: " << gpu.status().message() << "\n";
    return 2;
  }
  AddBenchmarkContext(**gpu);
  for (const std::string_view id : kCases) {
    StatusOr<OperationCase> c = FindCase(id);
    if (!c.ok()) {
      std::cerr << "operations_benchmark: " << c.status().message() << "\n";
      return 1;
    }
    benchmark::RegisterBenchmark(std::string(id).c_str(),
                                 [&gpu, c = *c](benchmark::State& state) {
                                   const Status status = Measure(**gpu, c, state);
                                   if (!status.ok()) state.SkipWithError(status.ToString().c_str());
                                 })
        ->UseManualTime()
        ->Iterations(kReplays)
        ->Unit(benchmark::kMicrosecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace draftmark

int main(int argc, char** argv) { return draftmark::Main(argc, argv); }
