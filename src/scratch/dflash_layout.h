// DflashScratchLayout: dtype, shape, bytes and presence of every field of a DflashScratch.
//
//   DflashScratchRequest request;
//   request.geometry = DflashGeometry::FromConfig(config);
//   request.tensors = DrafterTensorsPresent::FromConfig(config);
//   request.version = 2;
//   request.ctx_window = 4096;
//   request.max_batch = 8;
//   DM_ASSIGN_OR_RETURN(const DflashScratchLayout layout, DflashScratchLayout::Create(request));
//   layout.Field("logits").bytes;  layout.device_bytes();
//
// Rules: spec/dflash_scratch.md sections 1 to 3. Where documents and code disagree, the layout is
// chosen by name (section 2). Bytes are exact and unpadded. Immutable after Create, so thread-safe.
#ifndef DRAFTMARK_SRC_SCRATCH_DFLASH_LAYOUT_H_
#define DRAFTMARK_SRC_SCRATCH_DFLASH_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/scratch/dflash_fields.h"
#include "src/scratch/dflash_geometry.h"
#include "src/tensor/dtype.h"
#include "src/tensor/tensor_view.h"

namespace draftmark {

inline constexpr std::uint64_t kPrecomputeBatchRows = 256;  // rows of precompute_in
inline constexpr std::uint64_t kSelectorTopK = 16;          // columns of sel_vals and sel_idx
inline constexpr std::uint64_t kDefaultSelectorRank = 256;  // of checkpoints without the key

enum class DflashLayoutName {
  kDoc,         // v1 as documented: I32 slots, argument pair, n_attn logits rows
  kCodeA,       // v1, stage S-A of the code: I64 slots, argument pair, n_attn logits rows
  kCodeB,       // v1, stage S-B: I64 slots, argument triple, gamma logits rows
  kNormative,   // v2: slot_mapping_dev holds the block rows of every band
  kAsUpstream,  // v2: slot_mapping_dev of ctx_window entries, too small where nb*gamma is more
};
std::string_view DflashLayoutNameText(
    DflashLayoutName name);  // "doc", "code-a", "as-upstream", ...
// INVALID_ARGUMENT if the version has no layout of that name; lists those it has.
StatusOr<DflashLayoutName> ParseDflashLayoutName(std::uint64_t version, std::string_view text);

struct DflashScratchRequest {
  DflashGeometry geometry;
  DrafterTensorsPresent tensors;
  std::uint64_t version = 2;               // 1 or 2
  std::uint64_t ctx_window = 0;            // cw: context rows of one precompute pass
  std::uint64_t max_batch = 1;             // nb; version 1 requires 1
  std::optional<std::uint64_t> gamma;      // widest block; absent: the config's block size
  std::optional<DflashLayoutName> layout;  // absent: doc (v1) or normative (v2)
  bool batched_heads = false;              // conf_out for all bands instead of one
};

struct DflashFieldLayout {
  const DflashField* field = nullptr;
  bool is_null = false;        // by its NULL rule: no memory, 0 bytes
  DType dtype = DType::kBF16;  // unused for the event
  Shape shape;                 // logical, row-major; empty for the event
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 1;  // bytes that kernels need; allocators give more
};

class DflashScratchLayout {
 public:
  // INVALID_ARGUMENT for impossible inputs and fields of 0 bytes, OUT_OF_RANGE for sizes above
  // 2^64-1, UNIMPLEMENTED for a checkpoint with convolutions but without a selector, which upstream
  // would silently run without its convolutions. Messages name the input or field.
  static StatusOr<DflashScratchLayout> Create(const DflashScratchRequest& request);

  std::uint64_t version() const { return request_.version; }
  DflashLayoutName layout() const { return *request_.layout; }
  std::uint64_t ctx_window() const { return request_.ctx_window; }
  std::uint64_t max_batch() const { return request_.max_batch; }
  std::uint64_t gamma() const { return *request_.gamma; }
  const DflashGeometry& geometry() const { return request_.geometry; }
  std::uint64_t q_dim() const;
  std::uint64_t kv_dim() const;
  std::uint64_t rows() const { return rows_; }  // n_attn (v1) or R (v2): rows of the row buffers
  std::uint64_t slot_entries() const { return slot_entries_; }
  std::uint64_t argument_words() const { return argument_words_; }  // 32-bit words per record

  // 26 or 27, in the seeds' order.
  const std::vector<DflashFieldLayout>& fields() const { return fields_; }
  // Ends the process for a name that this version does not have.
  const DflashFieldLayout& Field(std::string_view name) const;

  std::uint64_t device_bytes() const { return device_bytes_; }
  std::uint64_t host_pinned_bytes() const { return host_pinned_bytes_; }

  // Sentences about what is legal but will hurt: a slot buffer that is too small, a head that the
  // config announces but whose tensors are absent.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  DflashScratchLayout() = default;

  DflashScratchRequest request_;  // with every default filled in
  std::uint64_t rows_ = 0;
  std::uint64_t slot_entries_ = 0;
  std::uint64_t argument_words_ = 0;
  std::uint64_t device_bytes_ = 0;
  std::uint64_t host_pinned_bytes_ = 0;
  std::vector<DflashFieldLayout> fields_;
  std::vector<std::string> warnings_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_DFLASH_LAYOUT_H_
