// The regions inside the composite buffers, as typed records of byte offsets.
//
// One record per layout of spec/buffer_sizes.md sections 7 and 8. Offsets are bytes from the start
// of the buffer; `end` is the first byte after the layout. The counts and strides among the members
// say so. Each record has a table of its members, whose names are the keys of the oracle rows'
// `sub_offsets` (section 12) after the layout's prefix.
#ifndef DRAFTMARK_SRC_SCRATCH_SUB_LAYOUT_REGIONS_H_
#define DRAFTMARK_SRC_SCRATCH_SUB_LAYOUT_REGIONS_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace draftmark {

template <typename Record, typename T>
struct Region {
  std::string_view name;
  T Record::*member;
};

// Record::Regions() is the table: all members in the order of the oracle rows.
#define DM_REGION(name) \
  Region<Self, T> { #name, &Self::name }

// gdn_fla_scratch, section 8.1: W | U | S | uc | gc.
template <typename T>
struct GdnFlaRegions {
  using Self = GdnFlaRegions;
  static constexpr std::string_view kPrefix = "gdn_fla_scratch";
  T nt{};  // count: chunks of 64 tokens
  T W{};   // BF16 [nt*nv, 64, kd]
  T U{};   // BF16 [nt*nv, 64, vd]
  T S{};   // BF16 [nt*nv, kd, vd]
  T uc{};  // BF16 [nt*nv, 64, vd]
  T gc{};  // F32 [nt*nv, 64]
  T end{};
  static constexpr auto Regions() {
    return std::array{DM_REGION(nt), DM_REGION(W),  DM_REGION(U),  DM_REGION(S),
                      DM_REGION(uc), DM_REGION(gc), DM_REGION(end)};
  }
};

// ssd_scratch, section 8.2: dt | dA_cumsum | CB.
template <typename T>
struct SsdRegions {
  using Self = SsdRegions;
  static constexpr std::string_view kPrefix = "ssd_scratch";
  T nc{};         // count: chunks of 64 tokens
  T dt{};         // F32 [mh, nc, 64]
  T dA_cumsum{};  // F32 [mh, nc, 64]
  T CB{};         // F32 [nc, max(ng,1), 64, 64]
  T end{};
  static constexpr auto Regions() {
    return std::array{DM_REGION(nc), DM_REGION(dt), DM_REGION(dA_cumsum), DM_REGION(CB),
                      DM_REGION(end)};
  }
};

// qsa_select_scratch, section 8.4: qk | q_post | scores | lists.
template <typename T>
struct QsaSelectRegions {
  using Self = QsaSelectRegions;
  static constexpr std::string_view kPrefix = "qsa_select_scratch";
  T score_stride{};  // elements per row of scores: cdiv(context, xr)
  T block_topk{};    // elements per row of lists: the budget in blocks
  T qk{};            // BF16 [2048, (xh+1)*xd]; the extra head is the shared key head
  T q_post{};        // F32 [2048, xh, xd]
  T scores{};        // F32 [2048, score_stride]
  T lists{};         // I32 [2048, block_topk]
  T end{};
  static constexpr auto Regions() {
    return std::array{DM_REGION(score_stride), DM_REGION(block_topk), DM_REGION(qk),
                      DM_REGION(q_post),       DM_REGION(scores),     DM_REGION(lists),
                      DM_REGION(end)};
  }
};

// hc_lowrank_scratch for decode, section 8.3: normed | low.
template <typename T>
struct HcSplitRegions {
  using Self = HcSplitRegions;
  static constexpr std::string_view kPrefix = "hc_lowrank_scratch.split";
  T tokens{};  // count
  T normed{};  // F32 [tokens, hc*h]
  T low{};     // F32 [tokens, hr]
  T end{};
  static constexpr auto Regions() {
    return std::array{DM_REGION(tokens), DM_REGION(normed), DM_REGION(low), DM_REGION(end)};
  }
};

// hc_lowrank_scratch for prefill slabs, section 8.3: normed | up_pre | low | inj_pre.
template <typename T>
struct HcGemmRegions {
  using Self = HcGemmRegions;
  static constexpr std::string_view kPrefix = "hc_lowrank_scratch.gemm";
  T tokens{};   // count
  T normed{};   // BF16 [tokens, hc*h]
  T up_pre{};   // BF16 [tokens, hc*h]
  T low{};      // BF16 [tokens, hr]
  T inj_pre{};  // BF16 [tokens, hc]
  T end{};
  static constexpr auto Regions() {
    return std::array{DM_REGION(tokens), DM_REGION(normed),  DM_REGION(up_pre),
                      DM_REGION(low),    DM_REGION(inj_pre), DM_REGION(end)};
  }
};

// `scratch` during single-stream prefill, section 7 A.
template <typename T>
struct PrefillRegions {
  using Self = PrefillRegions;
  static constexpr std::string_view kPrefix = "scratch.prefill";
  T moe_routing{};  // indices U32 [m, k], then weights F32 [m, k]
  T positions{};    // U32, one stream of m entries or three back to back
  T slots{};        // I64 [m]
  T block_table{};  // U32 [max_blocks]
  T seq_len{};      // U32
  T end{};
  static constexpr auto Regions() {
    return std::array{DM_REGION(moe_routing), DM_REGION(positions), DM_REGION(slots),
                      DM_REGION(block_table), DM_REGION(seq_len),   DM_REGION(end)};
  }
};

// `scratch` during batched decode of `rows` rows, section 7 Bm. Narrow verify steps use the layout
// of 32 rows.
template <typename T>
struct DecodeRegions {
  using Self = DecodeRegions;
  static constexpr std::string_view kPrefix = "scratch.decode";
  T rows{};         // count
  T positions{};    // U32 [rows]
  T seq_slot{};     // I32 [rows], the LoRA slot
  T slots{};        // I64 [rows]
  T seq_lens{};     // I32 [rows], then 4*rows unused bytes
  T block_table{};  // I32 [rows, max_blocks]
  T end{};
  static constexpr auto Regions() {
    return std::array{DM_REGION(rows),  DM_REGION(positions), DM_REGION(seq_slot),
                      DM_REGION(slots), DM_REGION(seq_lens),  DM_REGION(block_table),
                      DM_REGION(end)};
  }
};

// `scratch` during batched verification of 96 rows, section 7 Bm.
template <typename T>
struct VerifyRegions {
  using Self = VerifyRegions;
  static constexpr std::string_view kPrefix = "scratch.verify";
  T positions{};
  T seq_slot{};
  T slots{};
  T seq_lens{};  // then 128 unused bytes
  T block_table{};
  T end{};
  static constexpr auto Regions() {
    return std::array{DM_REGION(positions), DM_REGION(seq_slot),    DM_REGION(slots),
                      DM_REGION(seq_lens),  DM_REGION(block_table), DM_REGION(end)};
  }
};

// `scratch` during batched prefill, section 7 Q: `streams` streams of `chunk_tokens` tokens each,
// T tokens in all.
template <typename T>
struct BatchedPrefillRegions {
  using Self = BatchedPrefillRegions;
  static constexpr std::string_view kPrefix = "scratch.batched_prefill";
  T streams{};             // count
  T chunk_tokens{};        // count
  T moe_routing{};         // U32 and F32 [T, k]
  T stream_meta{};         // one block per stream
  T stream_meta_stride{};  // bytes of such a block
  T positions{};           // U32 [T] per position stream, each padded to 8 bytes
  T slots{};               // I64 [T]
  T block_table_ptrs{};    // pointers [streams]
  T seq_len_ptrs{};        // pointers [streams]
  T cu_seqlens{};          // I32 [streams + 1]
  T kv_lens{};             // I32 [streams]
  T h_state_ptrs{};        // pointers [streams]
  T end{};
  static constexpr auto Regions() {
    return std::array{DM_REGION(streams),
                      DM_REGION(chunk_tokens),
                      DM_REGION(moe_routing),
                      DM_REGION(stream_meta),
                      DM_REGION(stream_meta_stride),
                      DM_REGION(positions),
                      DM_REGION(slots),
                      DM_REGION(block_table_ptrs),
                      DM_REGION(seq_len_ptrs),
                      DM_REGION(cu_seqlens),
                      DM_REGION(kv_lens),
                      DM_REGION(h_state_ptrs),
                      DM_REGION(end)};
  }
};
#undef DM_REGION

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_SUB_LAYOUT_REGIONS_H_
