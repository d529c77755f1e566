// The suite on the first GPU: own kernels, those of every GPU (sm80_*), which hold the faults.
// Kernels made for one architecture are left out.
#include <fmt/format.h>

#include <chrono>
#include <future>

#include "conformance/mutants/check.h"
#include "conformance/mutants/histories.h"
#include "kernels/draft/cuda_session.h"
#include "kernels/draft/draft_weights.h"
#include "kernels/draft/testing/stream_gate.h"
#include "kernels/registry/device_operations.h"
#include "src/cuda/cuda_allocator.h"
#include "src/cuda/cuda_status.h"
#include "src/cuda/device.h"
#include "src/cuda/stream.h"
#include "src/faults/device_fault.cuh"
#include "src/operations/registry.h"
#include "src/scratch/checking_allocator.h"
#include "src/scratch/ledger.h"

namespace draftmark {
namespace {

using kernels::CudaDraftSession;

struct Gpu {
  explicit Gpu(CudaStream given) : stream(std::move(given)) {}
  CudaAllocator allocator;
  CudaStream stream;
};
using SharedGpu = std::shared_ptr<Gpu>;

StatusOr<std::unique_ptr<CudaDraftSession>> Open(Gpu& gpu, Allocator& allocator,
                                                 const DrafterConfig& config,
                                                 const DrafterWeights& weights,
                                                 const SessionLimits& limits, bool graphs = true) {
  DM_ASSIGN_OR_RETURN(auto uploaded,
                      kernels::DraftWeights::Upload(config, weights, allocator, gpu.stream.get()));
  return kernels::OpenCudaSession(config, std::move(uploaded), limits, allocator,
                                  /*library=*/nullptr, {.graphs = graphs, .fast = false});
}

StatusOr<std::unique_ptr<CudaDraftSession>> Open(Gpu& gpu, Allocator& allocator,
                                                 const History& history, bool graphs = true) {
  return Open(gpu, allocator, history.config, *history.weights, history.limits, graphs);
}

kernels::DeviceContext Context(Gpu& gpu) {
  return {.allocator = &gpu.allocator, .stream = gpu.stream.get(), .generic = true};
}

OpenSession OpenCase(const SharedGpu& gpu) {
  return [gpu](const DrafterCase& drafter_case, const SessionLimits& limits,
               Precision precision) -> StatusOr<std::unique_ptr<DraftSession>> {
    if (precision != Precision::kBf16) return UnimplementedError("backend cuda: bf16 only");
    DM_ASSIGN_OR_RETURN(const DrafterWeights weights,
                        LoadDrafterWeights(drafter_case.config(), drafter_case.checkpoint()));
    DM_ASSIGN_OR_RETURN(std::unique_ptr<CudaDraftSession> session,
                        Open(*gpu, gpu->allocator, drafter_case.config(), weights, limits));
    return std::unique_ptr<DraftSession>(std::move(session));
  };
}

History HistoryOf(std::string_view name) {
  for (History& history : Histories()) {
    if (history.name == name) return std::move(history);
  }
  return {};
}

// The tokens of each step and band, without stages: by graphs, where the session has them.
StatusOr<std::vector<std::vector<std::uint32_t>>> Tokens(const History& history,
                                                         CudaDraftSession& session) {
  std::vector<std::vector<std::uint32_t>> tokens;
  for (std::size_t s = 0; s < history.bands[0].size(); ++s) {
    DM_ASSIGN_OR_RETURN(const std::vector<BlockRequest> requests, EnterStep(history, s, session));
    DM_ASSIGN_OR_RETURN(const std::vector<BlockResult> results, session.Propose(requests, nullptr));
    for (const BlockResult& result : results) tokens.push_back(result.draft_tokens);
  }
  return tokens;
}

Status Replay(Gpu& gpu) {
  for (const char* const name : {"width_change", "rejection", "two_bands_conv"}) {
    const History history = HistoryOf(name);
    DM_ASSIGN_OR_RETURN(const auto graphs, Open(gpu, gpu.allocator, history));
    DM_ASSIGN_OR_RETURN(const auto eager, Open(gpu, gpu.allocator, history, /*graphs=*/false));
    DM_ASSIGN_OR_RETURN(const auto replayed, Tokens(history, *graphs));
    DM_ASSIGN_OR_RETURN(const auto expected, Tokens(history, *eager));
    if (graphs->replays() == 0 || eager->replays() != 0) {
      return InternalError("graphs: not what was asked for");
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (replayed[i] != expected[i]) {
        return InternalError(fmt::format("{}: block {}: a replay gives other tokens", name, i));
      }
    }
  }
  return OkStatus();
}

// While nothing on the stream can begin, a propose must come back.
Status DoesNotWait(Gpu& gpu) {
  constexpr std::chrono::seconds kLongEnough(2);  // for a call that enqueues and returns
  const History history = HistoryOf("rejection");
  DM_ASSIGN_OR_RETURN(const auto session, Open(gpu, gpu.allocator, history));
  DM_RETURN_IF_ERROR(Tokens(history, *session).status());
  // The last block once more: nothing is appended.
  const CaseStep& step = history.bands[0].back();
  const BlockRequest request = {0, step.block_tokens, step.start};
  kernels::StreamGate gate(session->parts().stream);
  std::future<Status> call = std::async(std::launch::async, [&] {
    return session->Enqueue({&request, 1});
  });
  const bool waits = call.wait_for(kLongEnough) != std::future_status::ready;
  gate.Open();
  DM_RETURN_IF_ERROR(call.get());
  DM_RETURN_IF_ERROR(session->Collect().status());
  return waits ? InternalError("a propose waits for the device") : OkStatus();
}

Status RedZones(Gpu& gpu) {
  for (const History& history :
       {HistoryOf("two_bands_plain"), HistoryOf("two_bands_conv"), ManyBands()}) {
    CheckingAllocator checking(gpu.allocator,
                               {.zone_bytes = 4096, .wait_for_device = SynchronizeDevice});
    DM_ASSIGN_OR_RETURN(std::unique_ptr<CudaDraftSession> session, Open(gpu, checking, history));
    DM_RETURN_IF_ERROR(Tokens(history, *session).status());
    DM_RETURN_IF_ERROR(SynchronizeDevice());
    DM_RETURN_IF_ERROR(checking.Check(HandleOf(gpu.stream.get())));
    session.reset();
    DM_RETURN_IF_ERROR(checking.Check(HandleOf(gpu.stream.get())));
  }
  return OkStatus();
}

Status Leaks(Gpu& gpu) {
  Ledger ledger;
  LedgerAllocator allocator(gpu.allocator, ledger);
  const History history = HistoryOf("two_bands_conv");
  DM_ASSIGN_OR_RETURN(std::unique_ptr<CudaDraftSession> session, Open(gpu, allocator, history));
  DM_RETURN_IF_ERROR(Tokens(history, *session).status());
  session.reset();
  for (const LedgerLine& line : ledger.Lines()) {
    if (line.account.live_count == 0) continue;
    return InternalError(fmt::format("{}: {} bytes are still allocated after the session", line.tag,
                                     line.account.live_bytes));
  }
  return OkStatus();
}

Status SteadyState(Gpu& gpu) {
  Ledger ledger;
  LedgerAllocator allocator(gpu.allocator, ledger);
  const History history = HistoryOf("rejection");
  DM_ASSIGN_OR_RETURN(const auto session, Open(gpu, allocator, history));
  const std::uint64_t before = ledger.Total().total_count;
  DM_RETURN_IF_ERROR(Tokens(history, *session).status());
  const std::uint64_t allocations = ledger.Total().total_count - before;
  if (allocations == 0) return OkStatus();
  return InternalError(
      fmt::format("{} allocations in {} proposes", allocations, history.bands[0].size()));
}

// Sums of one warp and of a block, in outputs of 32 bits where there are such.
Status SameBits(Gpu& gpu) {
  constexpr int kRuns = 4;
  for (const char* const name : {"selector_walk", "confidence", "rms_norm", "linear"}) {
    for (const OperationCase& c : BoundaryCases(*FindOperation(name))) {
      if (c.operation->flops(c.keys) > 2e6) continue;
      DM_ASSIGN_OR_RETURN(const OperandSet operands, MakeOperands(c));
      DM_ASSIGN_OR_RETURN(const kernels::OutputBytes first,
                          kernels::RunOnDeviceToBytes(c, operands, Context(gpu)));
      for (int run = 1; run < kRuns; ++run) {
        DM_ASSIGN_OR_RETURN(const kernels::OutputBytes again,
                            kernels::RunOnDeviceToBytes(c, operands, Context(gpu)));
        if (again != first) return InternalError(fmt::format("not the same: {}", c.Id()));
      }
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<Checks> CudaSuite(const std::string& golden) {
  DM_RETURN_IF_ERROR(ListDevices().status());
  DM_ASSIGN_OR_RETURN(CudaStream stream, CudaStream::Create());
  const SharedGpu gpu = std::make_shared<Gpu>(std::move(stream));
#ifdef DRAFTMARK_FAULTS
  DM_RETURN_IF_ERROR(
      CudaStatus(static_cast<cudaError_t>(SetDeviceFaults()), "faults: cudaMemcpyToSymbol"));
#endif
  Checks checks;
  AddOperationChecks(
      [gpu](const OperationCase& c) {
        return CheckOperation(c, Precision::kBf16, "cuda", SumType::kFloat32,
                              [&](const OperationCase& one, const OperandSet& operands) {
                                return kernels::RunOnDevice(one, operands, Context(*gpu));
                              });
      },
      checks);
  const Backend backend = {
      .name = "cuda", .accumulation = Accumulation::kFloat32, .path = "simple"};
  DM_RETURN_IF_ERROR(AddDraftChecks(golden, {Precision::kBf16}, backend, OpenCase(gpu), checks));
  AddHistoryChecks(
      {.precision = Precision::kBf16, .bound = 0.05, .skip_choices = true},
      [gpu](const DrafterConfig& config, const std::shared_ptr<const DrafterWeights>& weights,
            const SessionLimits& limits) -> StatusOr<std::unique_ptr<DraftSession>> {
        DM_ASSIGN_OR_RETURN(std::unique_ptr<CudaDraftSession> session,
                            Open(*gpu, gpu->allocator, config, *weights, limits));
        return std::unique_ptr<DraftSession>(std::move(session));
      },
      checks);
  const auto add = [&](const char* name, Status (*run)(Gpu&)) {
    checks.push_back({name, [gpu, run] { return run(*gpu); }});
  };
  add("session/replay", Replay);
  add("session/does_not_wait", DoesNotWait);
  add("session/same_bits", SameBits);
  add("memory/red_zones", RedZones);
  add("memory/leaks", Leaks);
  add("memory/steady_state", SteadyState);
  return checks;
}

bool DeviceIsLost() {
  // An illegal access stays until the process ends, and every later call repeats it.
  return cudaDeviceSynchronize() != cudaSuccess;
}

}  // namespace draftmark
