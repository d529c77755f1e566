#include "src/scratch/sub_layouts.h"

#include <algorithm>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/status_matchers.h"
#include "src/scratch/buffer_sizes.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

SizingFields FlashNextLike() {
  SizingFields c;
  c.hidden_size = 2560;
  c.num_experts = 4;
  c.num_experts_per_tok = 10;
  c.mrope_interleaved = true;
  c.linear_num_value_heads = 48;
  c.linear_num_key_heads = 16;
  c.linear_key_head_dim = 128;
  c.linear_value_head_dim = 128;
  c.mamba_num_heads = 4;
  c.mamba_head_dim = 8;
  c.ssm_state_size = 16;
  c.hc_mult = 4;
  c.hc_lowrank = 320;
  c.index_n_heads = 4;
  c.index_head_dim = 128;
  c.index_topk = 2048;
  c.index_compress_ratio = 4;
  return c;
}

SubLayouts Layouts(const SizingFields& c, const SizingArguments& a) {
  const StatusOr<SubLayouts> layouts = SubLayouts::Create(c, a);
  DM_CHECK(layouts.ok());
  return *layouts;
}

constexpr SizingArguments kArguments{
    .max_batch_tokens = 200, .max_seq_len = 4096, .kv_block_size = 16, .max_batch_size = 40};

TEST(SubLayoutsTest, EveryLayoutEndsInsideItsBuffer) {
  for (const std::uint64_t m : {1u, 63u, 64u, 65u, 200u, 2048u, 2049u, 16384u}) {
    SizingArguments a = kArguments;
    a.max_batch_tokens = m;
    const SubLayouts s = Layouts(FlashNextLike(), a);
    const StatusOr<BufferSizes> sizes = BufferSizes::FromConfig(FlashNextLike(), a);
    ASSERT_TRUE(sizes.ok());
    EXPECT_EQ(s.gdn_fla->end, sizes->gdn_fla_scratch);
    EXPECT_EQ(s.ssd->end, sizes->ssd_scratch);
    EXPECT_EQ(s.qsa_select->end, sizes->qsa_select_scratch);
    EXPECT_EQ(std::max(s.hc_split->end, s.hc_gemm->end), sizes->hc_lowrank_scratch);
    EXPECT_EQ(std::max({std::uint64_t{65536}, s.prefill.end, s.decode.end, s.verify.end,
                        s.batched_prefill.end}),
              sizes->scratch);
  }
}

TEST(SubLayoutsTest, HcSplitOffsetStaysInsideASmallBuffer) {
  // Upstream places `low` at 4*64*D whatever m is.
  SizingArguments a = kArguments;
  a.max_batch_tokens = 8;
  const SubLayouts s = Layouts(FlashNextLike(), a);
  const std::uint64_t width = 4 * 2560;
  EXPECT_EQ(s.hc_split->low, 4 * 8 * width);
  EXPECT_LT(s.hc_split->end, 4 * 64 * width);
  DM_ASSERT_OK_AND_ASSIGN(const HcSplitLayout three, s.HcSplitFor(3));
  EXPECT_EQ(three.low, 4 * 3 * width);
  EXPECT_EQ(three.end, 4 * 3 * (width + 320));
  EXPECT_THAT(s.HcSplitFor(9),
              StatusIs(StatusCode::kOutOfRange, AllOf(HasSubstr("hc_lowrank_scratch.split"),
                                                      HasSubstr("1 to 8"), HasSubstr("found 9"))));
}

TEST(SubLayoutsTest, HcGemmTakesWholeSlabs) {
  SizingArguments a = kArguments;
  a.max_batch_tokens = 5000;
  const SubLayouts s = Layouts(FlashNextLike(), a);
  EXPECT_EQ(s.hc_gemm->tokens, 2048u);
  EXPECT_EQ(s.hc_split->tokens, 64u);
  DM_ASSERT_OK_AND_ASSIGN(const HcGemmLayout part, s.HcGemmFor(100));
  EXPECT_EQ(part.up_pre, 100u * 10240 * 2);
  EXPECT_EQ(part.low, 100u * 10240 * 4);
  EXPECT_EQ(part.inj_pre, 100u * 10240 * 4 + 2 * 100 * 320);
  EXPECT_EQ(part.end, 2u * 100 * (2 * 10240 + 320 + 4));
  EXPECT_THAT(s.HcGemmFor(2049), StatusIs(StatusCode::kOutOfRange, HasSubstr("found 2049")));
}

TEST(SubLayoutsTest, GdnChunksOfSeveralStreams) {
  const SubLayouts s = Layouts(FlashNextLike(), kArguments);
  EXPECT_EQ(s.gdn_fla->nt, 4u + 16);
  DM_ASSERT_OK_AND_ASSIGN(const GdnFlaLayout call, s.GdnFlaFor(2, 65));  // two chunks each
  EXPECT_EQ(call.nt, 4u);
  EXPECT_EQ(call.end, 4u * 48 * 82176);
  EXPECT_THAT(s.GdnFlaFor(16, 65), StatusIs(StatusCode::kOutOfRange, HasSubstr("found 32")));
  EXPECT_THAT(s.GdnFlaFor(std::uint64_t{1} << 63, 1000),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("gdn_fla_scratch")));
}

TEST(SubLayoutsTest, SsdOfFewerChunks) {
  const SubLayouts s = Layouts(FlashNextLike(), kArguments);
  EXPECT_EQ(s.ssd->nc, 5u);
  DM_ASSERT_OK_AND_ASSIGN(const SsdLayout call, s.SsdFor(2));
  EXPECT_EQ(call.CB, 2u * 4 * 2 * 256);
  EXPECT_EQ(call.end, 2u * 4 * 2 * 256 + 2 * 16384);  // no groups count as one
  EXPECT_THAT(s.SsdFor(0), StatusIs(StatusCode::kOutOfRange, HasSubstr("found 0")));
}

TEST(SubLayoutsTest, QsaListsMoveWithTheContext) {
  const SubLayouts s = Layouts(FlashNextLike(), kArguments);
  EXPECT_EQ(s.qsa_select->score_stride, 1024u);
  DM_ASSERT_OK_AND_ASSIGN(const QsaSelectLayout call, s.QsaSelectFor(10));
  EXPECT_EQ(call.score_stride, 3u);
  EXPECT_EQ(call.block_topk, 512u);
  EXPECT_EQ(call.lists, call.scores + 8192 * 3);
  EXPECT_THAT(s.QsaSelectFor(4097), StatusIs(StatusCode::kOutOfRange, HasSubstr("4096")));
}

TEST(SubLayoutsTest, PrefillOfAChunk) {
  const SubLayouts s = Layouts(FlashNextLike(), kArguments);
  DM_ASSERT_OK_AND_ASSIGN(const PrefillLayout p, s.PrefillFor(1));
  EXPECT_EQ(p.positions, 80u);
  EXPECT_EQ(p.slots, 96u);  // three streams of one token, padded to 8
  EXPECT_EQ(p.block_table, 104u);
  EXPECT_EQ(p.seq_len, 1132u);
  EXPECT_EQ(p.end, 1136u);
  EXPECT_THAT(s.PrefillFor(201), StatusIs(StatusCode::kOutOfRange, HasSubstr("scratch.prefill")));
}

TEST(SubLayoutsTest, NarrowVerifyUsesThirtyTwoRows) {
  const SubLayouts s = Layouts(FlashNextLike(), kArguments);
  EXPECT_EQ(s.decode.rows, 40u);
  DM_ASSERT_OK_AND_ASSIGN(const DecodeLayout d, s.DecodeFor(32));
  EXPECT_EQ(d.seq_slot - d.positions, 128u);
  EXPECT_EQ(d.slots - d.positions, 256u);
  EXPECT_EQ(d.seq_lens - d.positions, 512u);
  EXPECT_EQ(d.block_table - d.positions, 768u);
  EXPECT_THAT(s.DecodeFor(41), StatusIs(StatusCode::kOutOfRange, HasSubstr("found 41")));
}

TEST(SubLayoutsTest, BatchedPrefillOfFewerStreams) {
  const SubLayouts s = Layouts(FlashNextLike(), kArguments);
  EXPECT_EQ(s.batched_prefill.streams, 8u);
  EXPECT_EQ(s.batched_prefill.chunk_tokens, 25u);
  DM_ASSERT_OK_AND_ASSIGN(const BatchedPrefillLayout b, s.BatchedPrefillFor(3, 5));
  EXPECT_EQ(b.stream_meta, 1216u);  // up(8*15*10, 64)
  EXPECT_EQ(b.positions, 1216u + 3 * 4096);
  EXPECT_EQ(b.slots, b.positions + 3 * 64);  // up(60, 8) for each position stream
  EXPECT_EQ(b.cu_seqlens, b.slots + 120 + 24 + 24);
  EXPECT_EQ(b.end, b.cu_seqlens + 16 + 16 + 24);
  EXPECT_LE(b.end, s.batched_prefill.end);
  EXPECT_THAT(s.BatchedPrefillFor(9, 1), StatusIs(StatusCode::kOutOfRange, HasSubstr("streams")));
  EXPECT_THAT(s.BatchedPrefillFor(8, 26), StatusIs(StatusCode::kOutOfRange, HasSubstr("26")));
}

TEST(SubLayoutsTest, AbsentCompositesHaveNoLayoutAndNoKeys) {
  SizingFields c;
  c.hc_mult = 4;       // no rank
  c.index_topk = 512;  // no ratio
  c.mamba_num_heads = 3;
  const SubLayouts s = Layouts(c, kArguments);
  EXPECT_THAT(s.GdnFlaFor(1, 1), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("gdn_fla")));
  EXPECT_THAT(s.SsdFor(1), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("ssd")));
  EXPECT_THAT(s.HcSplitFor(1), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("split")));
  EXPECT_THAT(s.HcGemmFor(1), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("gemm")));
  EXPECT_THAT(s.QsaSelectFor(1), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("qsa")));
  for (const NamedOffset& offset : s.Offsets()) EXPECT_THAT(offset.first, HasSubstr("scratch."));
  EXPECT_EQ(s.Offsets().size(), 33u);
}

TEST(SubLayoutsTest, HostileCountsAreErrors) {
  SizingArguments a = kArguments;
  a.max_seq_len = ~std::uint64_t{0};
  a.kv_block_size = 1;
  EXPECT_THAT(SubLayouts::Create(FlashNextLike(), a),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("overflow")));
}

}  // namespace
}  // namespace draftmark
