// BufferSizes: the bytes of each of the 41 buffers of one forward pass.
//
//   DM_ASSIGN_OR_RETURN(const BufferSizes sizes, BufferSizes::FromConfig(fields, {
//       .max_batch_tokens = 2048, .max_seq_len = 32768, .kv_block_size = 16, .max_batch_size =
//       32}));
//   sizes.logits;                       // bytes
//   sizes.TotalBytes();                 // of all 41
//
// All of spec/buffer_sizes.md sections 1 to 10: a pure function of config, arguments and flags, in
// unsigned 64-bit integers with every addition and multiplication checked. A plain value type that
// can be copied; what lies inside the composite buffers is in sub_layouts.h.
#ifndef DRAFTMARK_SRC_SCRATCH_BUFFER_SIZES_H_
#define DRAFTMARK_SRC_SCRATCH_BUFFER_SIZES_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "src/base/status.h"
#include "src/config/sizing_fields.h"
#include "src/scratch/buffer_fields.h"
#include "src/scratch/sizing_arguments.h"

namespace draftmark {

// Members: the 41 names of the seed, from BufferRecord, in bytes.
struct BufferSizes : BufferRecord<std::uint64_t> {
  // OUT_OF_RANGE if any intermediate of a size exceeds 2^64-1; the message names every buffer
  // concerned, in the seed's order. All-zero input is valid (section 9).
  static StatusOr<BufferSizes> FromConfig(const SizingFields& config,
                                          const SizingArguments& arguments);

  // The sum of all 41. OUT_OF_RANGE, naming total_bytes, if the sizes are valid but their sum
  // exceeds 2^64-1.
  StatusOr<std::uint64_t> TotalBytes() const;
  // The figure that upstream reports: it leaves out o_latent and norm_unit_w (section 10). For
  // comparison with upstream only.
  StatusOr<std::uint64_t> UpstreamReportedTotalBytes() const;

  // One "name bytes" line per buffer.
  std::string ToString() const;

  bool operator==(const BufferSizes&) const = default;
};
std::ostream& operator<<(std::ostream& os, const BufferSizes& sizes);

// The shape of a buffer as its size gives it, in elements: "[2048, 5120] BF16". "NULL" for 0
// bytes, "placeholder" for a 256-byte floor, "composite" where several regions share it.
std::string BufferShape(const BufferField& field, const BufferSizes& sizes,
                        const SizingFields& config, const SizingArguments& arguments);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_BUFFER_SIZES_H_
