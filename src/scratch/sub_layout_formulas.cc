#include "src/scratch/sub_layout_formulas.h"

#include <algorithm>

#include "src/scratch/sizing_terms.h"

namespace draftmark {
namespace {

std::uint64_t DivideUp(std::uint64_t a, std::uint64_t b) {
  return CeilDiv(CheckedU64(a), b).value();
}

std::uint64_t PositionStreams(const SizingFields& c) { return c.mrope_interleaved ? 3 : 1; }

}  // namespace

bool HasGdnFla(const SizingFields& c) {
  return c.linear_num_value_heads > 0 && c.linear_key_head_dim == kGdnHeadDim &&
         c.linear_value_head_dim == kGdnHeadDim;
}
bool HasSsd(const SizingFields& c) { return c.mamba_num_heads > 0 && c.ssm_state_size > 0; }
bool HasHcLowrank(const SizingFields& c) { return c.hc_mult > 0 && c.hc_lowrank > 0; }
bool HasQsa(const SizingFields& c) { return c.index_topk > 0 && c.index_compress_ratio > 0; }

// The spare chunks cannot overflow after a division by 64.
std::uint64_t GdnFlaChunks(std::uint64_t m) { return DivideUp(m, kChunk) + kSpareGdnChunks; }
std::uint64_t SsdChunks(std::uint64_t m) { return DivideUp(m, kChunk) + kSpareSsdChunks; }

GdnFlaRegions<CheckedU64> GdnFlaFormula(const SizingFields& c, std::uint64_t chunks) {
  const CheckedU64 pairs = CheckedU64(chunks) * c.linear_num_value_heads;  // (chunk, head)
  const CheckedU64 u_bytes = pairs * kChunk * c.linear_value_head_dim * 2;
  GdnFlaRegions<CheckedU64> r;
  r.nt = chunks;
  r.U = r.W + pairs * kChunk * c.linear_key_head_dim * 2;
  r.S = r.U + u_bytes;
  r.uc = r.S + pairs * c.linear_key_head_dim * c.linear_value_head_dim * 2;
  r.gc = r.uc + u_bytes;
  r.end = r.gc + pairs * kChunk * 4;
  return r;
}

SsdRegions<CheckedU64> SsdFormula(const SizingFields& c, std::uint64_t chunks) {
  const CheckedU64 per_head = CheckedU64(c.mamba_num_heads) * chunks * kChunk * 4;
  const std::uint64_t groups = std::max<std::uint64_t>(c.n_groups, 1);
  SsdRegions<CheckedU64> r;
  r.nc = chunks;
  r.dA_cumsum = r.dt + per_head;
  r.CB = r.dA_cumsum + per_head;
  r.end = r.CB + CheckedU64(chunks) * groups * kChunk * kChunk * 4;
  return r;
}

HcSplitRegions<CheckedU64> HcSplitFormula(const SizingFields& c, std::uint64_t tokens) {
  const CheckedU64 width = CheckedU64(c.hc_mult) * c.hidden_size;
  HcSplitRegions<CheckedU64> r;
  r.tokens = tokens;
  // Upstream puts `low` at 64 tokens whatever the size of the buffer, that is outside of it for
  // m < 64. Here the offset follows the same count that sizes the layout (section 8.3, hazard).
  r.low = r.normed + width * tokens * 4;
  r.end = r.low + CheckedU64(c.hc_lowrank) * tokens * 4;
  return r;
}

HcGemmRegions<CheckedU64> HcGemmFormula(const SizingFields& c, std::uint64_t tokens) {
  const CheckedU64 width = CheckedU64(c.hc_mult) * c.hidden_size;
  HcGemmRegions<CheckedU64> r;
  r.tokens = tokens;
  r.up_pre = r.normed + width * tokens * 2;
  r.low = r.up_pre + width * tokens * 2;
  r.inj_pre = r.low + CheckedU64(c.hc_lowrank) * tokens * 2;
  r.end = r.inj_pre + CheckedU64(c.hc_mult) * tokens * 2;
  return r;
}

QsaSelectRegions<CheckedU64> QsaSelectFormula(const SizingFields& c, std::uint64_t context) {
  QsaSelectRegions<CheckedU64> r;
  r.score_stride = CeilDiv(CheckedU64(context), c.index_compress_ratio);
  r.block_topk = FloorDiv(CheckedU64(c.index_topk), c.index_compress_ratio);
  r.q_post = r.qk + (CheckedU64(c.index_n_heads) + 1) * c.index_head_dim * kSlabRows * 2;
  r.scores = r.q_post + CheckedU64(c.index_n_heads) * c.index_head_dim * kSlabRows * 4;
  r.lists = r.scores + r.score_stride * kSlabRows * 4;
  r.end = r.lists + r.block_topk * kSlabRows * 4;
  return r;
}

PrefillRegions<CheckedU64> PrefillFormula(const SizingFields& c, std::uint64_t tokens,
                                          CheckedU64 max_blocks) {
  const CheckedU64 t = tokens;
  const CheckedU64 routing = t * 8 * c.num_experts_per_tok;
  // The paddings below are relative to the end of the routing area, not to the buffer.
  const CheckedU64 slots = RoundUp(t * 4 * PositionStreams(c), 8);
  const CheckedU64 block_table = RoundUp(slots + t * 8, 4);
  const CheckedU64 seq_len = RoundUp(block_table + max_blocks * 4, 4);
  PrefillRegions<CheckedU64> r;
  r.positions = routing;
  r.slots = routing + slots;
  r.block_table = routing + block_table;
  r.seq_len = routing + seq_len;
  r.end = r.seq_len + 4;
  return r;
}

DecodeRegions<CheckedU64> DecodeFormula(CheckedU64 rows, CheckedU64 max_blocks) {
  const CheckedU64 base = kMetadataBase;
  DecodeRegions<CheckedU64> r;
  r.rows = rows;
  r.positions = base;
  r.seq_slot = base + rows * 4;
  r.slots = base + rows * 8;
  r.seq_lens = base + rows * 16;
  r.block_table = base + rows * 24;
  r.end = r.block_table + rows * max_blocks * 4;
  return r;
}

VerifyRegions<CheckedU64> VerifyFormula(CheckedU64 max_blocks) {
  const CheckedU64 base = kMetadataBase;
  VerifyRegions<CheckedU64> r;
  r.positions = base;
  r.seq_slot = base + kVerifyRows * 4;
  r.slots = base + kVerifyRows * 8;
  r.seq_lens = base + kVerifyRows * 16;
  r.block_table = base + 2048;  // 1920 rounded up to a round number by upstream
  r.end = r.block_table + max_blocks * kVerifyRows * 4;
  return r;
}

BatchedPrefillRegions<CheckedU64> BatchedPrefillFormula(const SizingFields& c,
                                                        std::uint64_t streams,
                                                        std::uint64_t chunk_tokens) {
  const CheckedU64 s = streams;
  const CheckedU64 total = s * chunk_tokens;
  BatchedPrefillRegions<CheckedU64> r;
  r.streams = s;
  r.chunk_tokens = chunk_tokens;
  r.stream_meta = r.moe_routing + RoundUp(total * 8 * c.num_experts_per_tok, 64);
  r.stream_meta_stride = Max({CheckedU64(chunk_tokens) * 16 + 64, kMinStreamMetadata});
  r.positions = r.stream_meta + r.stream_meta_stride * s;
  // Unlike single-stream prefill, each position stream is padded by itself.
  r.slots = r.positions + RoundUp(total * 4, 8) * PositionStreams(c);
  r.block_table_ptrs = r.slots + RoundUp(total * 8, 8);
  r.seq_len_ptrs = r.block_table_ptrs + RoundUp(s * 8, 8);
  r.cu_seqlens = r.seq_len_ptrs + RoundUp(s * 8, 8);
  r.kv_lens = r.cu_seqlens + RoundUp((s + 1) * 4, 8);
  r.h_state_ptrs = r.kv_lens + RoundUp(s * 4, 8);
  r.end = r.h_state_ptrs + s * 8;
  return r;
}

ScratchFormulas ScratchFormulas::At(const SizingFields& c, const SizingArguments& a) {
  const SizingTerms t = SizingTerms::From(c, a);
  const std::uint64_t chunk_tokens = std::max<std::uint64_t>(DivideUp(t.m, kPrefillStreams), 1);
  return {t.max_blocks, PrefillFormula(c, t.m, t.max_blocks),
          DecodeFormula(t.decode_rows, t.max_blocks), VerifyFormula(t.max_blocks),
          BatchedPrefillFormula(c, kPrefillStreams, chunk_tokens)};
}

}  // namespace draftmark
