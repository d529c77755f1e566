#include "conformance/cuda/cuda_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/draft/cuda_session.h"
#include "kernels/draft/draft_weights.h"
#include "kernels/registry/device_operations.h"
#include "src/base/catch_exhausted.h"
#include "src/cuda/cublaslt.h"
#include "src/cuda/cuda_allocator.h"
#include "src/cuda/stream.h"
#include "src/weights/weights.h"

namespace draftmark {
namespace {

class OnDevice final : public TimedDraft {
 public:
  OnDevice(std::unique_ptr<kernels::CudaDraftSession> session, CudaEvent begin, CudaEvent end)
      : session_(std::move(session)), begin_(std::move(begin)), end_(std::move(end)) {}

  DraftSession& session() override { return *session_; }
  Status Prepare(std::uint64_t width, std::uint64_t bands) override {
    return session_->Prepare(width, bands);
  }
  DeviceBytes memory() const override {
    const kernels::SessionMemory memory = session_->memory();
    return {.weights = memory.weights,
            .cache = memory.cache,
            .scratch = memory.scratch,
            .workspace = memory.workspace};
  }

  StatusOr<TimedBlocks> Propose(std::span<const BlockRequest> requests, StageSink* sink) override {
    TimedBlocks timed;
    const cudaStream_t stream = session_->parts().stream;
    DM_RETURN_IF_ERROR(begin_.Record(stream));
    if (sink != nullptr) {
      DM_ASSIGN_OR_RETURN(timed.blocks, session_->Propose(requests, sink));
      DM_RETURN_IF_ERROR(end_.Record(stream));
    } else {
      DM_RETURN_IF_ERROR(session_->Enqueue(requests));
      DM_RETURN_IF_ERROR(end_.Record(stream));
      DM_ASSIGN_OR_RETURN(timed.blocks, session_->Collect());
    }
    DM_RETURN_IF_ERROR(end_.Wait());
    DM_ASSIGN_OR_RETURN(timed.milliseconds, end_.MillisecondsSince(begin_));
    return timed;
  }

 private:
  const std::unique_ptr<kernels::CudaDraftSession> session_;
  CudaEvent begin_, end_;
};

class FirstDevice final : public CudaBackend {
 public:
  FirstDevice(DeviceInfo device, CudaStream stream, std::unique_ptr<CublasLt> library)
      : device_(std::move(device)), stream_(std::move(stream)), library_(std::move(library)) {}

  const DeviceInfo& device() const override { return device_; }
  std::string arch() const override {
    return fmt::format("sm_{}{}", device_.compute_major, device_.compute_minor);
  }

  OpenSession Sessions(const CudaSessionKind& kind) override {
    return [this, kind](const DrafterCase& drafter_case, const SessionLimits& limits,
                        Precision precision) {
      return CatchExhausted("backend cuda",
                            [&] { return Open(drafter_case, limits, precision, kind); });
    };
  }

  StatusOr<std::unique_ptr<TimedDraft>> Generate(const DrafterConfig& config,
                                                 const DataGenerator& generator,
                                                 const SessionLimits& limits) override {
    return CatchExhausted("backend cuda", [&]() -> StatusOr<std::unique_ptr<TimedDraft>> {
      DM_ASSIGN_OR_RETURN(auto weights, kernels::DraftWeights::Generate(config, generator,
                                                                        allocator_, stream_.get()));
      return Timed(config, std::move(weights), limits);
    });
  }

  StatusOr<std::unique_ptr<TimedDraft>> Upload(const DrafterConfig& config,
                                               const DrafterWeights& host,
                                               const SessionLimits& limits) override {
    return CatchExhausted("backend cuda", [&]() -> StatusOr<std::unique_ptr<TimedDraft>> {
      DM_ASSIGN_OR_RETURN(auto weights,
                          kernels::DraftWeights::Upload(config, host, allocator_, stream_.get()));
      return Timed(config, std::move(weights), limits);
    });
  }

  RunOperation Operations() override {
    return [this](const OperationCase& c, const OperandSet& operands) {
      return CatchExhausted("backend cuda", [&] {
        return kernels::RunOnDevice(
            c, operands,
            {.allocator = &allocator_, .cublaslt = library_.get(), .stream = stream_.get()});
      });
    };
  }

 private:
  StatusOr<std::unique_ptr<TimedDraft>> Timed(const DrafterConfig& config,
                                              std::shared_ptr<const kernels::DraftWeights> weights,
                                              const SessionLimits& limits) {
    DM_ASSIGN_OR_RETURN(auto session, kernels::OpenCudaSession(config, std::move(weights), limits,
                                                               allocator_, library_.get()));
    DM_ASSIGN_OR_RETURN(CudaEvent begin, CudaEvent::Create(CudaEvent::Timing::kOn));
    DM_ASSIGN_OR_RETURN(CudaEvent end, CudaEvent::Create(CudaEvent::Timing::kOn));
    return std::unique_ptr<TimedDraft>(
        std::make_unique<OnDevice>(std::move(session), std::move(begin), std::move(end)));
  }

  StatusOr<std::unique_ptr<DraftSession>> Open(const DrafterCase& drafter_case,
                                               SessionLimits limits, Precision precision,
                                               const CudaSessionKind& kind) {
    if (precision != Precision::kBf16) {
      return UnimplementedError("backend cuda: computes in bf16 only");
    }
    // Without a cache the row buffers hold the whole context.
    if (!kind.paged) limits.ctx_window = std::max(limits.ctx_window, limits.max_context);
    DM_ASSIGN_OR_RETURN(const DrafterWeights weights,
                        LoadDrafterWeights(drafter_case.config(), drafter_case.checkpoint()));
    DM_ASSIGN_OR_RETURN(auto uploaded, kernels::DraftWeights::Upload(drafter_case.config(), weights,
                                                                     allocator_, stream_.get()));
    DM_ASSIGN_OR_RETURN(
        std::unique_ptr<kernels::CudaDraftSession> session,
        kernels::OpenCudaSession(
            drafter_case.config(), std::move(uploaded), limits, allocator_, library_.get(),
            {.scratch_version = kind.scratch_version, .paged = kind.paged, .fast = kind.fast}));
    return std::unique_ptr<DraftSession>(std::move(session));
  }

  const DeviceInfo device_;
  CudaAllocator allocator_;
  CudaStream stream_;
  const std::unique_ptr<CublasLt> library_;
};

}  // namespace

StatusOr<std::unique_ptr<CudaBackend>> CudaBackend::Open() {
  return CatchExhausted("backend cuda", []() -> StatusOr<std::unique_ptr<CudaBackend>> {
    DM_ASSIGN_OR_RETURN(const std::vector<DeviceInfo> devices, ListDevices());
    DM_ASSIGN_OR_RETURN(std::unique_ptr<CublasLt> library, CublasLt::Create());
    DM_ASSIGN_OR_RETURN(CudaStream stream, CudaStream::Create());
    return std::unique_ptr<CudaBackend>(
        std::make_unique<FirstDevice>(devices.front(), std::move(stream), std::move(library)));
  });
}

}  // namespace draftmark
