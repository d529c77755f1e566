// The derived quantities of sizing (spec/buffer_sizes.md section 4) under the spec's symbols, in
// checked arithmetic. Internal to src/scratch.
#ifndef DRAFTMARK_SRC_SCRATCH_SIZING_TERMS_H_
#define DRAFTMARK_SRC_SCRATCH_SIZING_TERMS_H_

#include "src/base/checked.h"
#include "src/config/sizing_fields.h"
#include "src/scratch/sizing_arguments.h"

namespace draftmark {

// Section 5, under names.
inline constexpr std::uint64_t kPlaceholderBytes = 256;  // so that an allocation is never 0 bytes
inline constexpr std::uint64_t kChunk = 64;              // tokens of a GDN or SSD chunk
inline constexpr std::uint64_t kSpareGdnChunks = 16;     // rounding of up to 16 streams in a pass
inline constexpr std::uint64_t kSpareSsdChunks = 1;
inline constexpr std::uint64_t kGdnHeadDim = 128;     // the chunked kernels know no other
inline constexpr std::uint64_t kFp8ScaleBlock = 128;  // elements per FP8 scale
inline constexpr std::uint64_t kSlabRows = 2048;      // of QSA selection and the HC GEMM path
inline constexpr std::uint64_t kHcSplitTokens = 64;   // limit of the HC decode layout
inline constexpr std::uint64_t kVerifyRows = 96;      // 32 sequences of 3 rows
inline constexpr std::uint64_t kMinDecodeRows = 32;
inline constexpr std::uint64_t kMinExpertRows = 3;     // a verify step, even if m is smaller
inline constexpr std::uint64_t kMetadataBase = 32768;  // of decode and verify inside `scratch`
inline constexpr std::uint64_t kMinScratch = 65536;
inline constexpr std::uint64_t kPrefillStreams = 8;
inline constexpr std::uint64_t kMinStreamMetadata = 4096;
inline constexpr std::uint64_t kQ8Slack = 1048576;  // bytes of slack of a q8_1 buffer
inline constexpr std::uint64_t kBlocksWithoutPaging = 256;

struct SizingTerms {
  std::uint64_t m, gm, ps;
  CheckedU64 qkvz, ba, di, xbc, inp, widest, kvl, expert_rows, max_blocks, decode_rows;
  CheckedU64 min_in;
  CheckedU64 q_width;   // nq*hd
  CheckedU64 kv_width;  // nkv*hd
  CheckedU64 pk, fk, qk2;
  bool mla;

  static SizingTerms From(const SizingFields& c, const SizingArguments& a) {
    SizingTerms t;
    t.m = a.max_batch_tokens;
    t.gm = c.attn_gated ? 2 : 1;
    t.ps = c.mrope_interleaved ? 3 : 1;
    t.mla = c.kv_lora_rank > 0;
    const auto product = [](std::uint64_t x, std::uint64_t y) { return CheckedU64(x) * y; };
    t.qkvz = product(c.linear_num_key_heads, c.linear_key_head_dim) * 2 +
             product(c.linear_num_value_heads, c.linear_value_head_dim) * 2;
    t.ba = product(2, c.linear_num_value_heads);
    t.di = product(c.mamba_num_heads, c.mamba_head_dim);
    // Not guarded by mamba_num_heads: groups and state alone make both non-zero (section 6).
    t.xbc = t.di + product(c.n_groups, c.ssm_state_size) * 2;
    t.inp = t.di + t.xbc + c.mamba_num_heads;
    t.min_in = c.moe_latent_size > 0 ? c.moe_latent_size : c.hidden_size;
    t.widest = Max({c.hidden_size, t.di});
    // Ignored, not merely small, without MLA: a hostile rope width must not overflow then.
    t.kvl = t.mla ? CheckedU64(c.kv_lora_rank) + c.qk_rope_head_dim : CheckedU64(0);
    t.expert_rows = Max({t.m, kMinExpertRows});
    t.max_blocks = a.kv_block_size == 0 ? CheckedU64(kBlocksWithoutPaging)
                                        : FloorDiv(CheckedU64(a.max_seq_len), a.kv_block_size) + 1;
    t.decode_rows = Max({kMinDecodeRows, a.max_batch_size});
    t.q_width = product(c.num_attention_heads, c.head_dim);
    t.kv_width = product(c.num_key_value_heads, c.head_dim);
    t.pk = Max({c.hidden_size, t.q_width, t.di});
    t.fk = Max({c.hidden_size, c.intermediate_size});
    t.qk2 = Max({t.fk, t.q_width});
    return t;
  }
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_SIZING_TERMS_H_
