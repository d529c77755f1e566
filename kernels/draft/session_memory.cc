#include "kernels/draft/session_memory.h"

#include <numeric>
#include <utility>
#include <vector>

#include "src/cuda/cuda_status.h"
#include "src/faults/fault.h"

namespace draftmark::kernels {

StatusOr<InputSlots> InputSlots::Create(std::byte* memory, const SessionPlan& plan,
                                        const SessionLimits& limits, const DrafterConfig& config) {
  InputSlots made;
  const std::uint64_t bytes = InputSlot::BytesFor(plan, limits, config);
  for (std::uint64_t i = 0; i < kStagingSlots; ++i) {
    made.slots_.emplace_back(memory + i * bytes, plan, limits, config);
    DM_ASSIGN_OR_RETURN(CudaEvent event, CudaEvent::Create(CudaEvent::Timing::kOff));
    made.copied_.push_back(std::move(event));
  }
  return made;
}

StatusOr<InputSlot*> InputSlots::Acquire() {
  current_ = (current_ + 1) % kStagingSlots;
  if (ticket_[current_] != 0) DM_RETURN_IF_ERROR(copied_[current_].Wait());
  ticket_[current_] = ++taken_;
  return &slots_[current_];
}

Status InputSlots::Release(cudaStream_t stream) { return copied_[current_].Record(stream); }

void InputSlots::MarkReached() {
  for (std::uint64_t& ticket : ticket_) {
    if (ticket <= marked_) ticket = 0;
  }
}

Status SessionStorage::AllocateCache(const DrafterConfig& config, const SessionPlan& plan,
                                     Allocator& allocator) {
  if (!plan.paged) return OkStatus();
  const std::uint64_t values = plan.cache_slots() * config.kv_dim();  // of one layer
  const auto pool = [&](std::string_view tag) {
    return DeviceBuffer::Create(allocator,
                                {.bytes = config.num_hidden_layers * values * sizeof(BFloat16),
                                 .alignment = kDeviceAlignment,
                                 .tag = tag});
  };
  if (DM_FAULT(kLeakedAllocation)) {
    DM_RETURN_IF_ERROR(allocator.Allocate({.bytes = 256, .tag = "forgotten"}).status());
  }
  DM_ASSIGN_OR_RETURN(keys_, pool("kv_pool_k"));
  DM_ASSIGN_OR_RETURN(values_, pool("kv_pool_v"));
  pools_ = {keys_.As<BFloat16>(), values_.As<BFloat16>(),
            static_cast<std::int64_t>(plan.cache_slots()), static_cast<std::int64_t>(values)};
  return OkStatus();
}

Status SessionStorage::UploadConstants(const SessionPlan& plan, const RopeTable& rope) {
  // The rule asks for an FP32 table (spec/drafter.md section 4.3).
  const std::vector<float> frequency(rope.frequency.begin(), rope.frequency.end());
  DM_RETURN_IF_ERROR(CopyToDevice({workspace_->Get<float>("rope_frequency")},
                                  std::as_bytes(std::span(frequency)), stream()));
  if (auto* const counters = workspace_->Get<unsigned>("chain_counters"); counters != nullptr) {
    const std::uint64_t bytes = workspace_->layout().BytesOf("chain_counters");
    DM_RETURN_IF_ERROR(
        CudaStatus(cudaMemsetAsync(counters, 0, bytes, stream()), "cudaMemsetAsync"));
  }
  std::vector<std::uint32_t> identity;
  if (!plan.paged) {
    identity.resize(workspace_->layout().BytesOf("block_tables") / sizeof(std::uint32_t));
    std::iota(identity.begin(), identity.end(), 0);
    DM_RETURN_IF_ERROR(CopyToDevice({workspace_->Get<std::uint32_t>("block_tables")},
                                    std::as_bytes(std::span(identity)), stream()));
  }
  return stream_->Synchronize();
}

WorkspaceView SessionStorage::view() const {
  const HarnessWorkspace& w = *workspace_;
  const HarnessWorkspaceLayout& layout = w.layout();
  return {.gemm = w.Get<void>("gemm"),
          .gemm_bytes = layout.BytesOf("gemm"),
          .attention = w.Get<void>("attention_partials"),
          .attention_bytes = layout.BytesOf("attention_partials"),
          .argmax = w.Get<void>("argmax_partials"),
          .argmax_bytes = layout.BytesOf("argmax_partials"),
          .top16 = w.Get<void>("top16_partials"),
          .top16_bytes = layout.BytesOf("top16_partials"),
          .markov = w.Get<void>("markov_step"),
          .markov_bytes = layout.BytesOf("markov_step"),
          .markov_state = w.Get<BFloat16>("markov_state"),
          .markov_embed_bands = w.Get<BFloat16>("markov_embed_bands"),
          .selector_scores = w.Get<float>("selector_scores"),
          .taps = w.Get<BFloat16>("taps"),
          .tap_rows = w.Get<std::uint32_t>("tap_rows"),
          .tap_staging = w.Get<BFloat16>("tap_staging"),
          .rope_frequency = w.Get<float>("rope_frequency"),
          .block_tables = w.Get<std::uint32_t>("block_tables"),
          .slot_positions = w.Get<std::int32_t>("slot_positions"),
          .contiguous_record = w.Get<std::uint32_t>("contiguous_record"),
          .conf_out_host = w.Get<BFloat16>("conf_out_host"),
          .row_sums = w.Get<float>("row_sums"),
          .row_best = w.Get<std::uint64_t>("row_best"),
          .chain_counters = w.Get<unsigned>("chain_counters")};
}

StatusOr<std::unique_ptr<SessionStorage>> SessionStorage::Create(
    const DrafterConfig& config, const DraftWeights& weights, const SessionPlan& plan,
    const SessionLimits& limits, Allocator& allocator, bool library, bool chains,
    const RopeTable& rope) {
  DM_ASSIGN_OR_RETURN(const HarnessWorkspaceLayout layout,
                      HarnessWorkspaceLayout::Create({.config = &config,
                                                      .plan = &plan,
                                                      .limits = limits,
                                                      .tensors = weights.present(),
                                                      .markov_type = weights.get().markov.type,
                                                      .library = library,
                                                      .chains = chains}));
  std::unique_ptr<SessionStorage> made(new SessionStorage);
  DM_ASSIGN_OR_RETURN(CudaStream stream, CudaStream::Create());
  made->stream_.emplace(std::move(stream));
  // Wide K and V only make passes shorter; the session asks for their length.
  DM_ASSIGN_OR_RETURN(made->scratch_,
                      DflashScratchMemory::Create(plan.layout, allocator, made->events_,
                                                  {.allow_short_precompute = true}));
  DM_RETURN_IF_ERROR(made->AllocateCache(config, plan, allocator));
  DM_ASSIGN_OR_RETURN(made->workspace_, HarnessWorkspace::Create(layout, allocator));
  DM_ASSIGN_OR_RETURN(
      InputSlots inputs,
      InputSlots::Create(made->workspace_->Get<std::byte>("inputs"), plan, limits, config));
  made->inputs_.emplace(std::move(inputs));
  DM_RETURN_IF_ERROR(made->UploadConstants(plan, rope));
  return made;
}

}  // namespace draftmark::kernels
