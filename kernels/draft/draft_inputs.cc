#include "kernels/draft/draft_inputs.h"

#include <algorithm>

#include "kernels/row_gather/row_gather.h"
#include "src/backend/cache_slots.h"
#include "src/base/catch_exhausted.h"
#include "src/cuda/cuda_status.h"
#include "src/faults/fault.h"

namespace draftmark::kernels {

std::vector<ContextRow> RowsFrom(std::size_t view, std::uint64_t index, std::uint64_t count) {
  std::vector<ContextRow> rows;
  for (std::uint64_t i = 0; i < count; ++i) rows.push_back({view, index + i});
  return rows;
}

Status DraftInputs::WithSlot(const std::function<Status(InputSlot& slot)>& send) {
  DM_ASSIGN_OR_RETURN(InputSlot* const slot, slots_.Acquire());
  // Also where host memory ends half-way: copies out of the slot may be on their way.
  const Status sent = CatchExhausted("inputs", [&] { return send(*slot); });
  const Status released = slots_.Release(p_.stream);
  return sent.ok() ? released : sent;
}

DraftInputs::TapRun DraftInputs::RunFrom(std::size_t band, std::uint64_t index,
                                         std::uint64_t most) const {
  const std::uint64_t first = TapRow(band, index);
  const std::uint64_t room = (band + 1) * limits_.max_context - first;  // up to the ring's end
  return {p_.workspace.taps + first * p_.config.tap_width(), std::min(most, room)};
}

Status DraftInputs::AppendTaps(std::size_t band, std::uint64_t index,
                               std::span<const BFloat16> taps) {
  const std::uint64_t width = p_.config.tap_width();
  const std::uint64_t rows = taps.size() / width;
  if (rows == 0) return OkStatus();
  for (std::uint64_t done = 0; done < rows;) {
    const TapRun run = RunFrom(band, index + done, rows - done);
    DM_RETURN_IF_ERROR(Upload<BFloat16>(const_cast<BFloat16*>(run.taps),
                                        taps.subspan(done * width, run.rows * width)));
    done += run.rows;
  }
  // Pageable memory is staged before a copy returns; page-locked memory is read later.
  cudaPointerAttributes source = {};
  DM_RETURN_IF_ERROR(
      CudaStatus(cudaPointerGetAttributes(&source, taps.data()), "cudaPointerGetAttributes"));
  if (source.type == cudaMemoryTypeUnregistered) return OkStatus();
  return CudaStatus(cudaStreamSynchronize(p_.stream), "cudaStreamSynchronize");
}

void DraftInputs::DropFront(std::size_t band, std::uint64_t rows) {
  if (limits_.max_context == 0) return;
  ring_first_[band] = (ring_first_[band] + rows) % limits_.max_context;
}

Status DraftInputs::SendPass(std::span<const BandView> views, std::span<const ContextRow> rows,
                             std::uint64_t padded, bool gather, InputSlot& slot) {
  const std::uint64_t layers = p_.config.num_hidden_layers;
  for (std::uint64_t i = 0; i < padded; ++i) {
    const bool real = i < rows.size();
    const BandView& view = views[real ? rows[i].view : 0];
    slot.SetSlot(i, real ? SlotOf(view.block_table, rows[i].index) : -1);
    for (std::uint64_t layer = 0; layer < layers; ++layer) {
      slot.pass_positions[layer * padded + i] = real ? view.context_positions[rows[i].index] : 0;
    }
  }
  DM_RETURN_IF_ERROR(Upload<std::byte>(p_.scratch.slot_mapping_dev.value,
                                       slot.slots.first(padded * slot.slot_bytes())));
  // Borrowed: positions of all layers' rows lie in norm_buf.
  DM_RETURN_IF_ERROR(
      Upload<std::int32_t>(p_.scratch.norm_buf.value, slot.pass_positions.first(padded * layers)));
  return gather ? GatherTaps(views, rows, padded, slot) : OkStatus();
}

Status DraftInputs::GatherTaps(std::span<const BandView> views, std::span<const ContextRow> rows,
                               std::uint64_t padded, InputSlot& slot) {
  for (std::uint64_t i = 0; i < padded; ++i) {
    // Padding repeats a row: memory that nobody wrote is not read.
    const ContextRow& row = rows[i < rows.size() ? i : 0];
    slot.tap_rows[i] = static_cast<std::uint32_t>(TapRow(views[row.view].band, row.index));
  }
  DM_RETURN_IF_ERROR(Upload<std::uint32_t>(p_.workspace.tap_rows, slot.tap_rows.first(padded)));
  return LaunchRowGather(
      {.index = p_.workspace.tap_rows,
       .table = p_.workspace.taps,
       .out = staging(),
       .rows = static_cast<std::int64_t>(padded),
       .from = static_cast<std::int64_t>(limits_.max_batch * limits_.max_context),
       .width = static_cast<std::int64_t>(p_.config.tap_width())},
      p_.stream);
}

void DraftInputs::FillBlock(std::span<const BandView> views, std::span<const BlockRequest> requests,
                            InputSlot& slot) const {
  const std::uint64_t width = requests.front().tokens.size();
  const std::uint64_t words = p_.plan.layout.argument_words();
  for (std::size_t b = 0; b < requests.size(); ++b) {
    const std::uint64_t context = views[b].context_positions.size();
    std::copy(requests[b].tokens.begin(), requests[b].tokens.end(),
              slot.tokens.begin() + static_cast<std::ptrdiff_t>(b * width));
    for (std::uint64_t j = 0; j < width; ++j) {
      slot.positions[b * width + j] =
          static_cast<std::int32_t>(requests[b].start + static_cast<std::int64_t>(j));
      if (DM_FAULT(kBlockPositionFromSlot)) {
        slot.positions[b * width + j] = static_cast<std::int32_t>(context + j);
      }
    }
    std::uint32_t* const record = slot.records.data() + b * words;
    record[0] = static_cast<std::uint32_t>(context + width);                   // kv_len
    record[1] = static_cast<std::uint32_t>(context);                           // q_offset
    if (words > 2) record[2] = static_cast<std::uint32_t>(requests[b].start);  // q_rope_pos
    for (std::uint64_t word = 0; DM_FAULT(kStaleArguments) && word < words; ++word) {
      const char* const owner = reinterpret_cast<const char*>(this) + b * words + word;
      record[word] = static_cast<std::uint32_t>(FaultFirst(owner, record[word]));
    }
    std::copy(views[b].block_table.begin(), views[b].block_table.end(),
              slot.tables.begin() + static_cast<std::ptrdiff_t>(b * p_.plan.blocks_per_band));
  }
}

Status DraftInputs::UploadBlock(const InputSlot& slot, const BlockShape& shape) const {
  const std::uint64_t words = p_.plan.layout.argument_words();
  DM_RETURN_IF_ERROR(
      Upload<std::uint32_t>(p_.scratch.draft_tokens_dev.value, slot.tokens.first(shape.rows())));
  DM_RETURN_IF_ERROR(
      Upload<std::int32_t>(p_.scratch.position_ids.value, slot.positions.first(shape.rows())));
  DM_RETURN_IF_ERROR(Upload<std::uint32_t>(p_.scratch.option_b_indirect_args_dev.value,
                                           slot.records.first(shape.bands * words)));
  return Upload<std::uint32_t>(p_.workspace.block_tables,
                               slot.tables.first(shape.bands * p_.plan.blocks_per_band));
}

Status DraftInputs::SendBlock(std::span<const BandView> views,
                              std::span<const BlockRequest> requests, InputSlot& slot) {
  FillBlock(views, requests, slot);
  return UploadBlock(slot, {.bands = requests.size(), .width = requests.front().tokens.size()});
}

Status DraftInputs::SendContiguous(const BandView& view, const BlockRequest& request,
                                   InputSlot& slot) {
  const std::uint64_t context = view.context_positions.size();
  const std::uint64_t width = request.tokens.size();
  std::copy(request.tokens.begin(), request.tokens.end(), slot.tokens.begin());
  std::copy(view.context_positions.begin(), view.context_positions.end(), slot.positions.begin());
  for (std::uint64_t j = 0; j < width; ++j) {
    slot.positions[context + j] =
        static_cast<std::int32_t>(request.start + static_cast<std::int64_t>(j));
  }
  // All rows are queries from row 0 on; block row j then stands at start + j.
  slot.records[0] = static_cast<std::uint32_t>(context + width);
  slot.records[1] = 0;
  slot.records[2] = static_cast<std::uint32_t>(request.start) - static_cast<std::uint32_t>(context);
  DM_RETURN_IF_ERROR(
      Upload<std::uint32_t>(p_.scratch.draft_tokens_dev.value, slot.tokens.first(width)));
  DM_RETURN_IF_ERROR(
      Upload<std::int32_t>(p_.scratch.position_ids.value, slot.positions.first(context + width)));
  return Upload<std::uint32_t>(p_.workspace.contiguous_record, slot.records.first(3));
}

Status DraftInputs::SendIdle(const BlockShape& shape, std::uint64_t pass_rows, InputSlot& slot) {
  const std::vector<std::uint32_t> table(p_.plan.blocks_per_band, 0);
  const std::vector<BandView> views(shape.bands, {.block_table = table});
  const std::vector<BlockRequest> requests(shape.bands,
                                           {.tokens = std::vector<std::uint32_t>(shape.width, 0)});
  DM_RETURN_IF_ERROR(SendPass(views, {}, pass_rows, /*gather=*/false, slot));
  DM_RETURN_IF_ERROR(
      CudaStatus(cudaMemsetAsync(staging(), 0, pass_rows * p_.config.tap_width() * sizeof(BFloat16),
                                 p_.stream),
                 "cudaMemsetAsync"));
  if (pass_rows > 1) {
    // The gather belongs to what is to be loaded: here from a row of zeros.
    slot.tap_rows[0] = 0;
    DM_RETURN_IF_ERROR(Upload<std::uint32_t>(p_.workspace.tap_rows, slot.tap_rows.first(1)));
    DM_RETURN_IF_ERROR(LaunchRowGather({.index = p_.workspace.tap_rows,
                                        .table = staging(),
                                        .out = staging() + p_.config.tap_width(),
                                        .rows = 1,
                                        .from = 1,
                                        .width = static_cast<std::int64_t>(p_.config.tap_width())},
                                       p_.stream));
  }
  FillBlock(views, requests, slot);
  // No key is valid, and the block's rows lie behind the tables' end.
  const std::uint64_t words = p_.plan.layout.argument_words();
  for (std::uint64_t b = 0; b < shape.bands; ++b) {
    slot.records[b * words] = 0;
    slot.records[b * words + 1] =
        static_cast<std::uint32_t>(p_.plan.blocks_per_band * kCacheBlockRows);
  }
  return UploadBlock(slot, shape);
}

}  // namespace draftmark::kernels
