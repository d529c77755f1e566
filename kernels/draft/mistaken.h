// What mutants launch instead (src/faults/fault.h), where it takes more than a line. Inline
// functions that no product calls, so that none holds them.
#ifndef DRAFTMARK_KERNELS_DRAFT_MISTAKEN_H_
#define DRAFTMARK_KERNELS_DRAFT_MISTAKEN_H_

#include <algorithm>
#include <cstdint>

#include "kernels/conv/conv.h"
#include "kernels/draft/draft_parts.h"
#include "kernels/draft/layer_launches.h"
#include "src/base/status.h"
#include "src/cuda/device_buffer.h"
#include "src/faults/fault.h"

namespace draftmark::kernels {

// M25b: `rows` of the stream, in place, as the first layer's attention gets block rows. The buffers
// of convolutions hold the rows of a block: as many at a time.
inline Status ConvolveAsBlock(const DraftParts& parts, BFloat16* stream, std::uint64_t rows) {
  const DrafterConfig& c = parts.config;
  if (c.conv_kernel_size == 0) return OkStatus();
  const DeviceConv& conv = parts.weights.layers.front().attention_conv;
  const std::uint64_t most = parts.plan.layout.gamma();
  for (std::uint64_t done = 0; done < rows; done += most) {
    const std::uint64_t count = std::min(most, rows - done);
    BFloat16* const x = stream + done * c.hidden_size;
    DM_RETURN_IF_ERROR(
        Linear(parts, {.x = x,
                       .weight = conv.kernel_projection,
                       .y = parts.scratch.conv_dyn.get(),
                       .rows = count,
                       .n = 2 * c.conv_kernel_size * (c.hidden_size / c.conv_group_size),
                       .k = c.hidden_size}));
    DM_RETURN_IF_ERROR(LaunchConv({.side = ConvSide::kPrepare,
                                   .x = x,
                                   .dynamic = parts.scratch.conv_dyn.get(),
                                   .base = conv.base_kernel,
                                   .out = parts.scratch.conv_tmp.get(),
                                   .rows = Signed(count),
                                   .h = Signed(c.hidden_size),
                                   .taps = Signed(c.conv_kernel_size),
                                   .group = Signed(c.conv_group_size),
                                   .band = Signed(count)},
                                  parts.stream));
    DM_RETURN_IF_ERROR(CopyOnDevice({x}, {parts.scratch.conv_tmp.value},
                                    count * c.hidden_size * sizeof(BFloat16), parts.stream));
  }
  return OkStatus();
}

// M25: projected context rows, treated as if they were block rows of the first layer.
inline Status MistakeContextForBlock(const DraftParts& parts, std::uint64_t rows) {
  BFloat16* const projected = parts.scratch.fc_proj.get();
  if (DM_FAULT(kContextConvolved)) return ConvolveAsBlock(parts, projected, rows);
  const DeviceMatrix weight = parts.weights.layers.front().input_layernorm;
  return Norm(parts, projected, weight, rows, projected);
}

}  // namespace draftmark::kernels

#endif  // DRAFTMARK_KERNELS_DRAFT_MISTAKEN_H_
