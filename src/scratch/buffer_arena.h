// BufferArena: the 41 buffers of one forward pass, allocated one by one and owned together.
//
//   DM_ASSIGN_OR_RETURN(BufferArena arena, BufferArena::Create(fields, arguments, allocator));
//   kernel(arena.addresses().hidden_states, ...);
//   DM_RETURN_IF_ERROR(arena.ClearBeforePrefill({}));
//
// Rules: spec/buffer_sizes.md section 11. One allocation per buffer in the table's arena order,
// sizes unrounded, aligned to kDeviceAlignment, tagged with the buffer's name. The 11 nullable
// buffers of 0 bytes are null; any other buffer of 0 bytes is an error before anything is
// allocated. Only norm_unit_w is initialised (zero bytes), and it stays read-only.
//
// Ownership: the arena owns the buffers and frees them on destruction; the allocator must outlive
// it. Movable, not copyable. Reading addresses and sizes is thread-safe; Release is not.
#ifndef DRAFTMARK_SRC_SCRATCH_BUFFER_ARENA_H_
#define DRAFTMARK_SRC_SCRATCH_BUFFER_ARENA_H_

#include <cstdint>

#include "src/base/status.h"
#include "src/config/sizing_fields.h"
#include "src/scratch/allocator.h"
#include "src/scratch/buffer_sizes.h"

namespace draftmark {

class BufferArena {
 public:
  // INVALID_ARGUMENT names every always-allocated buffer of 0 bytes; sizing's errors and the
  // allocator's pass through, the latter after everything allocated so far has been freed.
  // The zero fill is enqueued on `stream`.
  static StatusOr<BufferArena> Create(const SizingFields& config, const SizingArguments& arguments,
                                      Allocator& allocator, StreamHandle stream = {});

  BufferArena(BufferArena&& other) noexcept;
  BufferArena& operator=(BufferArena&& other) noexcept;
  ~BufferArena();

  // All null after Release.
  const BufferAddresses& addresses() const { return addresses_; }
  const BufferSizes& sizes() const { return sizes_; }
  std::uint64_t max_batch_tokens() const { return max_batch_tokens_; }  // m
  // R: the rows that the decode metadata in `scratch` is laid out for.
  std::uint64_t decode_rows() const { return decode_rows_; }

  // Fill with zero bytes, whole buffers, in the stream's order. Before a prefill chunk:
  // hidden_states, residual, gate_logits, expert_*, moe_output. Between requests: fields 1-6 and
  // 9-20. FAILED_PRECONDITION after Release.
  Status ClearBeforePrefill(StreamHandle stream);
  Status ClearBetweenRequests(StreamHandle stream);

  // Frees everything and nulls every address, also where a free fails; returns the first failure.
  // Calling it again does nothing and returns OK.
  Status Release();

 private:
  BufferArena(const BufferSizes& sizes, const SizingArguments& arguments, Allocator& allocator);
  Status AllocateAll(StreamHandle stream);
  Status Clear(BufferFlag flag, StreamHandle stream);

  BufferSizes sizes_;
  BufferAddresses addresses_;
  std::uint64_t max_batch_tokens_;
  std::uint64_t decode_rows_;
  Allocator* allocator_;  // null once moved from
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_BUFFER_ARENA_H_
