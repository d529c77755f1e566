#include "kernels/draft/tail.h"

#include <algorithm>
#include <span>

#include "kernels/argmax/argmax.h"
#include "kernels/confidence/confidence.h"
#include "kernels/draft/layer_launches.h"
#include "kernels/markov_step/markov_step.h"
#include "kernels/selector_walk/selector_walk.h"
#include "kernels/stream_chain/stream_chain_traits.h"
#include "kernels/top16/top16.h"
#include "src/backend/margins.h"
#include "src/cuda/cuda_status.h"
#include "src/faults/fault.h"

namespace draftmark::kernels {
namespace {

template <typename Range>
std::vector<double> AsDoubles(const Range& values) {
  return {values.begin(), values.end()};
}

std::vector<double> Loaded(std::span<const BFloat16> values) {
  std::vector<double> loaded;
  for (const BFloat16 value : values) loaded.push_back(value.ToDouble());
  return loaded;
}

// The last of the candidates minus the best that is none; 0 if nothing is left out.
double GapBehind(std::span<const BFloat16> row, std::span<const std::uint32_t> ids, double last) {
  double best = -INFINITY;
  for (std::uint32_t id = 0; id < row.size(); ++id) {
    const double value = row[id].ToDouble();
    if (value > best && std::find(ids.begin(), ids.end(), id) == ids.end()) best = value;
  }
  constexpr double kNoCandidate = -1e30;  // spec/drafter.md section 5
  return best > kNoCandidate ? last - best : 0;
}

}  // namespace

Status Tail::ChainLogits() {
  const std::uint64_t rows = shape_.rows();
  BFloat16* const normed = p_.scratch.norm_buf.get();
  StreamLinear step = chain_->Normed(p_.scratch.stream_buf.get(), p_.weights.norm, rows, normed);
  step.parts[0] = {p_.weights.lm_head, nullptr, p_.scratch.logits.get(), Signed(c_.vocab_size)};
  step.multiplier = static_cast<float>(c_.output_multiplier);
  step.softcap = static_cast<float>(c_.final_logit_softcapping.value_or(0));
  if (IsPlain()) step.row_best = p_.workspace.row_best;
  DM_RETURN_IF_ERROR(chain_->Add(step));
  if (p_.weights.selector.hidden_projection != nullptr) {
    step = {.x = normed, .rows = Signed(rows), .k = Signed(c_.hidden_size)};
    step.parts[0] = {p_.weights.selector.hidden_projection, nullptr, p_.scratch.sel_hproj.get(),
                     Signed(c_.selector_rank)};
    DM_RETURN_IF_ERROR(chain_->Add(step));
  }
  return chain_->Flush();
}

Status Tail::Logits() {
  const std::uint64_t h = c_.hidden_size;
  const std::uint64_t rows = shape_.rows();
  BFloat16* const normed = p_.scratch.norm_buf.get();
  BFloat16* const logits = p_.scratch.logits.get();
  if (chain_ != nullptr) {
    DM_RETURN_IF_ERROR(ChainLogits());
  } else {
    // The normed rows move to the front: everything after this is [bands * width].
    DM_RETURN_IF_ERROR(AddAndNorm(p_, p_.scratch.stream_buf.get() + shape_.first * h, pending_,
                                  p_.weights.norm, rows, normed));
    DM_RETURN_IF_ERROR(Linear(p_, {.x = normed,
                                   .weight = p_.weights.lm_head,
                                   .y = logits,
                                   .rows = DM_FAULT(kOneBandOfLogits) ? shape_.width : rows,
                                   .n = c_.vocab_size,
                                   .k = h,
                                   .multiplier = c_.output_multiplier,
                                   .softcap = c_.final_logit_softcapping.value_or(0)}));
  }
  if (taps_ == nullptr) return OkStatus();
  DM_RETURN_IF_ERROR(taps_->Rows("norm", {h}, normed, rows));
  return taps_->Rows("logits", {c_.vocab_size}, logits, rows);
}

Status Tail::Argmax(std::uint64_t first_row, std::uint64_t rows, std::uint64_t row_step,
                    std::uint32_t* tokens) {
  return LaunchArgmax({.logits = p_.scratch.logits.get() + first_row * c_.vocab_size,
                       .tokens = tokens + first_row,
                       .rows = Signed(rows),
                       .v = Signed(c_.vocab_size),
                       .row_stride = Signed(row_step * c_.vocab_size),
                       .token_step = Signed(row_step),
                       .workspace = p_.workspace.argmax,
                       .workspace_bytes = p_.workspace.argmax_bytes},
                      p_.stream);
}

Status Tail::Plain() {
  if (p_.weights.confidence.proj != nullptr) {
    DM_RETURN_IF_ERROR(Confidence(0, shape_.rows(), 1, nullptr));
  }
  // Every row's argmax, also the one that is no draft.
  if (chain_ == nullptr) return Argmax(0, shape_.rows(), 1, p_.scratch.draft_tokens_dev.get());
  return LaunchBestOfRows({.keys = p_.workspace.row_best,
                           .tokens = p_.scratch.draft_tokens_dev.get(),
                           .rows = Signed(shape_.rows()),
                           .parts = StreamChainRowParts(),
                           .rows_apart = StreamChainTraits::kMostRows},
                          p_.stream);
}

Status Tail::Confidence(std::uint64_t first_row, std::uint64_t rows, std::uint64_t row_step,
                        const BFloat16* embedding) {
  return LaunchConfidence({.hidden = p_.scratch.norm_buf.get() + first_row * c_.hidden_size,
                           .embedding = embedding,
                           .proj = p_.weights.confidence.proj,
                           .bias = p_.weights.confidence.bias,
                           .kappa = p_.scratch.conf_out.get() + first_row,
                           .rows = Signed(rows),
                           .h = Signed(c_.hidden_size),
                           .r = embedding != nullptr ? Signed(c_.markov_rank) : 0,
                           .row_step = Signed(row_step)},
                          p_.stream);
}

Status Tail::Markov() {
  const DeviceMarkov& w = p_.weights.markov;
  const bool one = shape_.bands == 1;
  // The scratch has room for one band's embedding and bias.
  BFloat16* const embedding = one ? p_.scratch.markov_embed.get() : p_.workspace.markov_embed_bands;
  if (w.type == MarkovType::kRnn) {
    DM_RETURN_IF_ERROR(
        CudaStatus(cudaMemsetAsync(p_.workspace.markov_state, 0,
                                   shape_.bands * c_.markov_rank * sizeof(BFloat16), p_.stream),
                   "cudaMemsetAsync"));
  }
  const MarkovHeadType type = w.type == MarkovType::kGated ? MarkovHeadType::kGated
                              : w.type == MarkovType::kRnn ? MarkovHeadType::kRnn
                                                           : MarkovHeadType::kVanilla;
  const std::uint64_t first = FirstDraftRow(c_);
  std::uint32_t* const tokens = p_.scratch.draft_tokens_dev.get();
  // Of a mutant: each row's argmax before its bias, in memory that nobody reads any more.
  auto* const unbiased = reinterpret_cast<std::uint32_t*>(p_.scratch.position_ids.get());
  for (std::uint64_t j = first; j < shape_.width; ++j) {
    // Row 0 still holds the anchor when it is read: its own argmax comes later.
    const std::uint64_t before = j == 0 ? 0 : j - 1;
    const bool mistaken = DM_FAULT(kMarkovPrevUnbiased) && j > first;
    if (DM_FAULT(kMarkovPrevUnbiased)) {
      DM_RETURN_IF_ERROR(Argmax(j, shape_.bands, shape_.width, unbiased));
    }
    DM_RETURN_IF_ERROR(LaunchMarkovStep(
        {.type = type,
         .previous = (mistaken ? unbiased : tokens) + before,
         .hidden = p_.scratch.norm_buf.get() + j * c_.hidden_size,
         .w1 = w.w1,
         .w2 = w.w2,
         .projection = w.type == MarkovType::kGated ? w.gate_proj : w.joint_proj,
         .projection_bias = w.type == MarkovType::kGated ? w.gate_bias : w.joint_bias,
         .state = p_.workspace.markov_state,
         .embedding = embedding,
         .bias = one ? p_.scratch.markov_bias.get() : nullptr,
         .logits = p_.scratch.logits.get() + j * c_.vocab_size,
         .rows = Signed(shape_.bands),
         .v = Signed(c_.vocab_size),
         .r = Signed(c_.markov_rank),
         .h = Signed(c_.hidden_size),
         .row_step = Signed(shape_.width),
         .workspace = p_.workspace.markov,
         .workspace_bytes = p_.workspace.markov_bytes},
        p_.stream));
    const bool skipped = DM_FAULT(kConfidenceStale) && j + 1 == shape_.width;
    if (p_.weights.confidence.proj != nullptr && !skipped) {
      DM_RETURN_IF_ERROR(Confidence(j, shape_.bands, shape_.width,
                                    c_.confidence_head_with_markov ? embedding : nullptr));
    }
    DM_RETURN_IF_ERROR(Argmax(j, shape_.bands, shape_.width, tokens));
  }
  return OkStatus();
}

Status Tail::Selector() {
  const std::uint64_t rows = shape_.rows();
  const DflashScratch& s = p_.scratch;
  if (chain_ == nullptr) {
    DM_RETURN_IF_ERROR(Linear(p_, {.x = s.norm_buf.get(),
                                   .weight = p_.weights.selector.hidden_projection,
                                   .y = s.sel_hproj.get(),
                                   .rows = rows,
                                   .n = c_.selector_rank,
                                   .k = c_.hidden_size}));
  }
  DM_RETURN_IF_ERROR(LaunchTop16({.logits = s.logits.get(),
                                  .values = s.sel_vals.get(),
                                  .ids = s.sel_idx.get(),
                                  .rows = Signed(rows),
                                  .v = Signed(c_.vocab_size),
                                  .workspace = p_.workspace.top16,
                                  .workspace_bytes = p_.workspace.top16_bytes},
                                 p_.stream));
  return LaunchSelectorWalk({.values = s.sel_vals.get(),
                             .ids = s.sel_idx.get(),
                             .hidden = s.sel_hproj.get(),
                             // The anchors stay where they are, in the first row of each band.
                             .anchors = s.draft_tokens_dev.get(),
                             .predecessor = p_.weights.selector.predecessor,
                             .successor = p_.weights.selector.successor,
                             .tokens = s.draft_tokens_dev.get(),
                             .scores = p_.workspace.selector_scores,
                             .rows = Signed(rows),
                             .band = Signed(shape_.width),
                             .v = Signed(c_.vocab_size),
                             .r = Signed(c_.selector_rank),
                             .anchor_step = Signed(shape_.width)},
                            p_.stream);
}

Status Tail::TapSelector() {
  const std::uint64_t drafts = shape_.width - 1;
  const std::uint64_t rows = shape_.rows();
  const std::uint64_t rank = c_.selector_rank;
  const DflashScratch& s = p_.scratch;
  DM_ASSIGN_OR_RETURN(const auto hidden, taps_->Download(s.sel_hproj.get(), rows * rank));
  DM_ASSIGN_OR_RETURN(const auto ids, taps_->Download(s.sel_idx.get(), rows * kSelectorTopK));
  DM_ASSIGN_OR_RETURN(const auto values, taps_->Download(s.sel_vals.get(), rows * kSelectorTopK));
  DM_ASSIGN_OR_RETURN(const auto scores, taps_->Download(p_.workspace.selector_scores,
                                                         shape_.bands * drafts * kSelectorTopK));
  DM_ASSIGN_OR_RETURN(const auto logits, taps_->Download(s.logits.get(), rows * c_.vocab_size));
  StageRecorder<StoredBf16>& recorder = taps_->recorder();
  for (std::uint64_t b = 0; b < shape_.bands; ++b) {
    const std::size_t band = taps_->bands()[b].band;
    const std::uint64_t first = b * shape_.width + 1;  // row 0 is no draft
    const auto candidates_of = [&](const auto& all) {
      return std::span(all).subspan(first * kSelectorTopK, drafts * kSelectorTopK);
    };
    const std::span<const float> scored =
        std::span(scores).subspan(b * drafts * kSelectorTopK, drafts * kSelectorTopK);
    std::vector<double> gaps;
    margins_.emplace_back();
    for (std::uint64_t j = 0; j < drafts; ++j) {
      const std::uint64_t row = first + j;
      gaps.push_back(GapBehind(std::span(logits).subspan(row * c_.vocab_size, c_.vocab_size),
                               std::span(ids).subspan(row * kSelectorTopK, kSelectorTopK),
                               static_cast<double>(values[(row + 1) * kSelectorTopK - 1])));
      margins_.back().push_back(
          MarginOf(AsDoubles(scored.subspan(j * kSelectorTopK, kSelectorTopK))));
    }
    const Shape shape = {drafts, kSelectorTopK};
    recorder.Emit(band, "selector.hidden_projection", {rank},
                  std::span(hidden).subspan(first * rank, drafts * rank));
    recorder.EmitValues(band, "selector.candidate_ids", shape, AsDoubles(candidates_of(ids)));
    recorder.EmitValues(band, "selector.unary", shape, AsDoubles(candidates_of(values)));
    recorder.EmitValues(band, "selector.topk_gap", {drafts}, gaps);
    recorder.EmitValues(band, "selector.scores", shape, AsDoubles(scored));
  }
  return OkStatus();
}

Status Tail::TapMargins() {
  const std::uint64_t rows = shape_.rows();
  const BFloat16* const device = p_.scratch.logits.get();
  DM_ASSIGN_OR_RETURN(const auto logits, taps_->Download(device, rows * c_.vocab_size));
  for (std::uint64_t b = 0; b < shape_.bands; ++b) {
    margins_.emplace_back();
    for (std::uint64_t j = FirstDraftRow(c_); j < shape_.width; ++j) {
      const std::uint64_t row = b * shape_.width + j;
      margins_.back().push_back(
          MarginOf(Loaded(std::span(logits).subspan(row * c_.vocab_size, c_.vocab_size))));
    }
  }
  if (c_.kind != DrafterKind::kDspark && p_.weights.markov.w1 == nullptr) return OkStatus();
  return taps_->Rows("markov.logits", {c_.vocab_size}, device, rows);
}

Status Tail::TapConfidence() {
  if (p_.weights.confidence.proj == nullptr) return OkStatus();
  const std::uint64_t first = FirstDraftRow(c_);
  for (std::uint64_t b = 0; b < shape_.bands; ++b) {
    const BFloat16* const of_band = p_.scratch.conf_out.get() + b * shape_.width + first;
    DM_ASSIGN_OR_RETURN(const auto kappa, taps_->Download(of_band, shape_.width - first));
    taps_->recorder().EmitValues(taps_->bands()[b].band, "confidence_logits", {kappa.size()},
                                 Loaded(kappa));
  }
  return OkStatus();
}

Status Tail::CopyToHost() {
  const auto to_host = [&](void* target, const void* source, std::uint64_t bytes) {
    return CudaStatus(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToHost, p_.stream),
                      "cudaMemcpyAsync to the host");
  };
  DM_RETURN_IF_ERROR(to_host(p_.scratch.draft_tokens_host_pinned.load(std::memory_order_relaxed),
                             p_.scratch.draft_tokens_dev.value,
                             shape_.rows() * sizeof(std::uint32_t)));
  if (p_.weights.confidence.proj == nullptr) return OkStatus();
  // Before the event: whoever waited for it may read both. Rows that are no drafts have none.
  const std::uint64_t first = FirstDraftRow(c_);
  const std::uint64_t pitch = shape_.width * sizeof(BFloat16);
  return CudaStatus(cudaMemcpy2DAsync(p_.workspace.conf_out_host + first, pitch,
                                      p_.scratch.conf_out.get() + first, pitch,
                                      (shape_.width - first) * sizeof(BFloat16), shape_.bands,
                                      cudaMemcpyDeviceToHost, p_.stream),
                    "cudaMemcpy2DAsync to the host");
}

Status Tail::Run() {
  DM_RETURN_IF_ERROR(Logits());
  const bool selector = HasSelector();
  if (IsPlain()) {
    DM_RETURN_IF_ERROR(Plain());
  } else {
    DM_RETURN_IF_ERROR(selector ? Selector() : Markov());
  }
  if (taps_ != nullptr) {
    DM_RETURN_IF_ERROR(selector ? TapSelector() : TapMargins());
    DM_RETURN_IF_ERROR(TapConfidence());
  }
  return CopyToHost();
}

}  // namespace draftmark::kernels
