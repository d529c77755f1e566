#include "kernels/draft/harness_workspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/argmax/argmax_traits.h"
#include "kernels/draft/input_slot.h"
#include "kernels/draft/pass_rows.h"
#include "kernels/linear/linear_traits.h"
#include "kernels/markov_step/markov_step_traits.h"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "kernels/stream_chain/stream_chain_traits.h"
#include "kernels/top16/top16_traits.h"
#include "src/backend/cache_slots.h"
#include "src/base/check.h"
#include "src/base/checked.h"

namespace draftmark::kernels {
namespace {

// Stands for bytes beyond 64 bits until Create names the field.
constexpr std::uint64_t kTooMuch = UINT64_MAX;

// Collects the fields of one request.
class Declaration {
 public:
  explicit Declaration(const WorkspaceRequest& request)
      : config_(*request.config),
        plan_(*request.plan),
        limits_(request.limits),
        tensors_(request.tensors),
        markov_type_(request.markov_type),
        library_(request.library),
        chains_(request.chains && request.plan->paged),
        rows_(request.limits.max_batch * request.limits.gamma) {}

  std::vector<WorkspaceField> Fields() {
    Gemm();
    Chains();
    Attention();
    Tail();
    Tables();
    Host();
    return std::move(fields_);
  }

 private:
  void Add(std::string name, CheckedU64 bytes, std::string formula,
           MemoryKind kind = MemoryKind::kDevice) {
    fields_.push_back(
        {std::move(name), kind, bytes.ok() ? bytes.value() : kTooMuch, std::move(formula)});
  }
  static CheckedU64 Elements(bool needed, CheckedU64 count, std::uint64_t bytes) {
    return needed ? count * bytes : CheckedU64(0);
  }

  void Gemm() {
    const bool epilogue = config_.final_logit_softcapping.value_or(0) > 0;
    CheckedU64 bytes = 0;
    if (library_) {
      bytes = LinearTraits::kLibraryWorkspaceBytes;
      if (epilogue) bytes = bytes + CheckedU64(rows_) * config_.vocab_size * sizeof(float);
    }
    Add("gemm", bytes,
        "32 MiB for cuBLASLt, and B * V * 4 for accumulators under a softcap; 0 without the "
        "library");
  }

  void Chains() {
    using Traits = StreamChainTraits;
    const auto sums = static_cast<std::uint64_t>(Traits::kMostRows * Traits::kMostBlocks);
    Add("row_sums", chains_ ? sums * sizeof(float) : 0,
        "16 * 160 * 4: sums of squares of 16 rows by 160 blocks, with streaming chains");
    Add("row_best", chains_ ? sums * sizeof(std::uint64_t) : 0,
        "16 * 160 * 8: the greatest logits of 16 rows by 160 blocks, with streaming chains");
    Add("chain_counters", chains_ ? Traits::kCounters * sizeof(unsigned) : 0,
        "(17 + 256) * 4, with streaming chains");
  }

  void Attention() {
    const auto most =
        static_cast<std::int64_t>(plan_.paged ? limits_.gamma : limits_.ctx_window + limits_.gamma);
    Add("attention_partials",
        PagedAttentionTraits::MostWorkspaceBytes(
            static_cast<std::int64_t>(limits_.max_batch), most,
            static_cast<std::int64_t>(config_.num_attention_heads),
            static_cast<std::int64_t>(config_.num_key_value_heads),
            static_cast<std::int64_t>(config_.head_dim)),
        "the most over all widths of splits * nb * w * n_q * (2 + d) * 4");
  }

  void Tail() {
    const auto rows = static_cast<std::int64_t>(rows_);
    const auto v = static_cast<std::int64_t>(config_.vocab_size);
    Add("argmax_partials", tensors_.selector ? 0 : ArgmaxTraits::WorkspaceBytes(rows, v),
        "B * ceil(V / 4096) * 8, without a selector");
    Add("top16_partials", tensors_.selector ? Top16Traits::WorkspaceBytes(rows, v) : 0,
        "B * ceil(V / 4096) * 16 * 8, with a selector");
    Add("selector_scores",
        Elements(tensors_.selector, CheckedU64(limits_.max_batch) * (limits_.gamma - 1),
                 kSelectorTopK * sizeof(float)),
        "nb * (w - 1) * 16 * 4, with a selector");
    const bool several = tensors_.markov && limits_.max_batch > 1;
    Add("markov_embed_bands",
        Elements(several, CheckedU64(limits_.max_batch) * config_.markov_rank, sizeof(BFloat16)),
        "nb * r_m * 2, for more bands than markov_embed holds");
    Add("markov_step",
        tensors_.markov
            ? MarkovStepTraits::WorkspaceBytes(markov_type_ == MarkovType::kVanilla,
                                               static_cast<std::int64_t>(limits_.max_batch),
                                               static_cast<std::int64_t>(config_.hidden_size),
                                               static_cast<std::int64_t>(config_.markov_rank))
            : 0,
        "nb * (h + 6 * r_m) * 2 with each part rounded to 256, gated and rnn");
    Add("markov_state",
        Elements(tensors_.markov && markov_type_ == MarkovType::kRnn,
                 CheckedU64(limits_.max_batch) * config_.markov_rank, sizeof(BFloat16)),
        "nb * r_m * 2, rnn");
  }

  void Tables() {
    const CheckedU64 tap_row = CheckedU64(config_.tap_width()) * sizeof(BFloat16);
    Add("taps", tap_row * limits_.max_batch * limits_.max_context, "nb * ctx * tap * 2");
    const std::uint64_t pass =
        PassRows(LongestPass(plan_), config_, limits_.gamma, limits_.max_batch);
    Add("tap_rows", Elements(plan_.paged, pass, sizeof(std::uint32_t)), "P * 4");
    Add("tap_staging", plan_.paged && plan_.layout.version() == 1 ? tap_row * pass : CheckedU64(0),
        "P * tap * 2, on scratch v1, which has no precompute_in");
    const auto rotary = static_cast<std::uint64_t>(
        std::llround(static_cast<double>(config_.head_dim) * config_.rope.partial_rotary_factor));
    Add("rope_frequency", rotary / 2 * sizeof(float), "rotary / 2 * 4");
    const std::uint64_t contiguous =
        CeilDiv(CheckedU64(plan_.layout.rows()), kCacheBlockRows).value();
    Add("block_tables",
        plan_.paged ? CheckedU64(limits_.max_batch) * plan_.blocks_per_band * sizeof(std::uint32_t)
                    : CheckedU64(contiguous) * sizeof(std::uint32_t),
        "nb * table * 4; without a cache one table over the row buffers");
    Add("slot_positions",
        Elements(NeedsSlotPositions(config_, plan_), plan_.cache_slots(), sizeof(std::int32_t)),
        "16 * blocks * 4, with causal or sliding layers on scratch v2");
    Add("contiguous_record", plan_.paged ? 0 : 3 * sizeof(std::uint32_t), "12, without a cache");
  }

  void Host() {
    Add("inputs", CheckedU64(InputSlot::BytesFor(plan_, limits_, config_)) * kStagingSlots,
        "4 slots of a call's inputs: B * (4 + 4), nb * record, P * 4, n * (slot + 4 * L) for the "
        "longest pass n, nb * table * 4; each part rounded to 16",
        MemoryKind::kHostPinned);
    Add("conf_out_host", Elements(tensors_.confidence, rows_, sizeof(BFloat16)),
        "B * 2, with a confidence head", MemoryKind::kHostPinned);
  }

  const DrafterConfig& config_;
  const SessionPlan& plan_;
  const SessionLimits limits_;
  const DrafterTensorsPresent tensors_;
  const MarkovType markov_type_;
  const bool library_;
  const bool chains_;
  const std::uint64_t rows_;
  std::vector<WorkspaceField> fields_;
};

std::uint64_t BytesOfKind(const std::vector<WorkspaceField>& fields, MemoryKind kind) {
  std::uint64_t bytes = 0;
  for (const WorkspaceField& field : fields) bytes += field.kind == kind ? field.bytes : 0;
  return bytes;
}

}  // namespace

bool NeedsSlotPositions(const DrafterConfig& config, const SessionPlan& plan) {
  if (!plan.paged || plan.layout.argument_words() < 3) return false;
  for (std::uint64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    if (config.layer_causal[layer] || config.layer_types[layer] == LayerType::kSlidingAttention) {
      return true;
    }
  }
  return false;
}

StatusOr<HarnessWorkspaceLayout> HarnessWorkspaceLayout::Create(const WorkspaceRequest& request) {
  HarnessWorkspaceLayout layout;
  layout.fields_ = Declaration(request).Fields();
  CheckedU64 total = 0;
  for (const WorkspaceField& field : layout.fields_) {
    total = total + field.bytes;
    if (!total.ok() || field.bytes == kTooMuch) {
      return OutOfRangeError(
          fmt::format("workspace {}: {} exceed all memory", field.name, field.formula));
    }
  }
  return layout;
}

std::size_t HarnessWorkspaceLayout::Index(std::string_view name) const {
  const auto found = std::find_if(fields_.begin(), fields_.end(),
                                  [&](const WorkspaceField& field) { return field.name == name; });
  DM_CHECK(found != fields_.end());
  return static_cast<std::size_t>(found - fields_.begin());
}

std::uint64_t HarnessWorkspaceLayout::BytesOf(std::string_view name) const {
  return fields_[Index(name)].bytes;
}

std::uint64_t HarnessWorkspaceLayout::device_bytes() const {
  return BytesOfKind(fields_, MemoryKind::kDevice);
}
std::uint64_t HarnessWorkspaceLayout::host_pinned_bytes() const {
  return BytesOfKind(fields_, MemoryKind::kHostPinned);
}

StatusOr<std::unique_ptr<HarnessWorkspace>> HarnessWorkspace::Create(
    const HarnessWorkspaceLayout& layout, Allocator& allocator) {
  std::unique_ptr<HarnessWorkspace> workspace(new HarnessWorkspace(layout));
  for (const WorkspaceField& field : layout.fields()) {
    const std::string tag = "workspace/" + field.name;
    DM_ASSIGN_OR_RETURN(
        DeviceBuffer memory,
        DeviceBuffer::Create(
            allocator,
            {.bytes = field.bytes, .alignment = kDeviceAlignment, .kind = field.kind, .tag = tag}));
    workspace->memory_.push_back(std::move(memory));
  }
  return workspace;
}

}  // namespace draftmark::kernels
