// Hand-computed values and the traps of spec/buffer_sizes.md. The oracle rows are checked in
// //conformance/sizes.
#include "src/scratch/buffer_sizes.h"

#include <limits>
#include <set>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

SizingFields Qwen3Next() {
  SizingFields c;
  c.hidden_size = 2048;
  c.intermediate_size = 5120;
  c.vocab_size = 151936;
  c.num_attention_heads = 16;
  c.num_key_value_heads = 2;
  c.head_dim = 256;
  c.attn_gated = true;
  c.linear_num_key_heads = 16;
  c.linear_key_head_dim = 128;
  c.linear_num_value_heads = 32;
  c.linear_value_head_dim = 128;
  c.num_experts = 512;
  c.num_experts_per_tok = 10;
  c.moe_intermediate_size = 512;
  c.shared_expert_intermediate_size = 512;
  return c;
}

SizingArguments Arguments(std::uint64_t m, std::uint64_t seq_len, std::uint64_t block,
                          std::uint64_t batch) {
  SizingArguments a;
  a.max_batch_tokens = m;
  a.max_seq_len = seq_len;
  a.kv_block_size = block;
  a.max_batch_size = batch;
  return a;
}

BufferSizes Sizes(const SizingFields& c, const SizingArguments& a) {
  const StatusOr<BufferSizes> sizes = BufferSizes::FromConfig(c, a);
  DM_CHECK(sizes.ok());
  return *sizes;
}

TEST(BufferFieldsTest, TheTableIsTheRecord) {
  // Members are declared in the table's order, once each; so no buffer is missing from a loop.
  BufferRecord<std::uint64_t> record;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kBufferFields.size(); ++i) {
    EXPECT_EQ(&(record.*kBufferFields[i].bytes), &record.hidden_states + i)
        << kBufferFields[i].name;
    names.insert(kBufferFields[i].name);
    EXPECT_EQ(FindBufferField(kBufferFields[i].name), &kBufferFields[i]);
  }
  EXPECT_EQ(names.size(), 41u);
  EXPECT_EQ(FindBufferField("no_buffer"), nullptr);
}

TEST(BufferFieldsTest, FactsOfSection11) {
  int nullable = 0;
  int omitted = 0;
  int zero_filled = 0;
  std::set<int> orders;
  for (const BufferField& field : kBufferFields) {
    nullable += field.Is(kNullable);
    omitted += field.Is(kUpstreamTotalOmits);
    zero_filled += field.Is(kZeroFilled);
    orders.insert(field.arena_order);
    EXPECT_FALSE(field.content.empty());
  }
  EXPECT_EQ(nullable, 11);
  EXPECT_EQ(omitted, 2);
  EXPECT_EQ(zero_filled, 1);
  EXPECT_EQ(orders.size(), 41u);
  EXPECT_EQ(*orders.begin(), 1);
  EXPECT_EQ(*orders.rbegin(), 41);
  EXPECT_EQ(kBufferFieldsInArenaOrder[20]->name, "o_latent");
  EXPECT_EQ(kBufferFieldsInArenaOrder[27]->name, "ssd_scratch");
  EXPECT_EQ(kBufferFieldsInArenaOrder[40]->name, "q2_act_q8");
}

TEST(BufferSizesTest, WorkedCheckOfSection12) {
  const BufferSizes s = Sizes(Qwen3Next(), Arguments(1, 4096, 16, 1));
  EXPECT_EQ(s.hidden_states, 4096u);
  EXPECT_EQ(s.qkv_output, 18432u);
  EXPECT_EQ(s.attn_output, 8192u);
  EXPECT_EQ(s.gate_logits, 1024u);
  EXPECT_EQ(s.logits, 303872u);
  EXPECT_EQ(s.ssm_qkvz, 24576u);
  EXPECT_EQ(s.ssm_ba, 256u);
  EXPECT_EQ(s.ssm_deinterleaved, 24576u);
  EXPECT_EQ(s.ssm_gates, 256u);
  EXPECT_EQ(s.TotalBytes().value(), 45538176u);
  EXPECT_EQ(s.UpstreamReportedTotalBytes().value(), 45533824u);
  EXPECT_EQ(s.TotalBytes().value(),
            s.UpstreamReportedTotalBytes().value() + s.o_latent + s.norm_unit_w);
}

TEST(BufferSizesTest, AllZeroInputIsValid) {
  SizingFields zero;
  zero.num_experts_per_tok = 0;
  const BufferSizes s = Sizes(zero, {});
  EXPECT_EQ(s.scratch, 133120u);
  EXPECT_EQ(s.splitk_workspace, 384u);
  EXPECT_EQ(s.ffn_act_q8, 1048576u);
  EXPECT_EQ(s.hidden_states, 0u);
  EXPECT_EQ(s.o_latent, 256u);
  EXPECT_EQ(Sizes(zero, Arguments(0, 0, 16, 0)).scratch, 65536u);
}

TEST(BufferSizesTest, LogitsRowsAreCapped) {
  SizingFields c;
  c.vocab_size = 1;
  EXPECT_EQ(Sizes(c, Arguments(5, 1, 16, 1)).logits, 2u * 5);
  EXPECT_EQ(Sizes(c, Arguments(4096, 1, 16, 95)).logits, 2u * 96);
  EXPECT_EQ(Sizes(c, Arguments(4096, 1, 16, 96)).logits, 2u * 97);
}

TEST(BufferSizesTest, RouterWidthCountsZeroExpertsWithoutFloor) {
  SizingFields c;
  c.zero_expert_num = 7;
  EXPECT_EQ(Sizes(c, Arguments(1, 1, 16, 1)).gate_logits, 256u);  // no experts: Z is ignored
  c.num_experts = 1;
  c.zero_expert_num = 0;
  EXPECT_EQ(Sizes(c, Arguments(1, 1, 16, 1)).gate_logits, 2u);
  c.zero_expert_num = 7;
  EXPECT_EQ(Sizes(c, Arguments(1, 1, 16, 1)).gate_logits_f32, 32u);
}

TEST(BufferSizesTest, RoundingDirectionsOfActivationScales) {
  SizingFields c;
  c.intermediate_size = 3333;
  c.hidden_size = 100;
  const BufferSizes s = Sizes(c, Arguments(2, 1, 16, 1));
  EXPECT_EQ(s.ffn_act_scale, 4u * 2 * 104);          // truncated
  EXPECT_EQ(s.ffn_act_q8, 4u * 2 * 3584 + 1048576);  // up to a multiple of 256
  EXPECT_EQ(s.fp8_act_scale, 4u * 2 * 1);            // cdiv(100, 128)
  EXPECT_EQ(s.expert_gate_out, 2u * 3 * 3333);       // three rows even for m = 2
}

TEST(BufferSizesTest, FlagsAreIndependent) {
  const SizingFields c = Qwen3Next();
  SizingArguments a = Arguments(4, 64, 16, 1);
  EXPECT_EQ(Sizes(c, a).q2_act_q8, 0u);
  a.native_q2_mmq = true;
  EXPECT_EQ(Sizes(c, a).q2_act_q8, 4u * 4 * 5120 + 1048576);
  EXPECT_EQ(Sizes(c, a).q2_dequant_scratch, 0u);
  a.native_q2 = true;
  EXPECT_EQ(Sizes(c, a).q2_dequant_scratch, 2u * 2048 * (2 * 16 * 128 + 2 * 32 * 128));
}

TEST(BufferSizesTest, SmCountIsOneParameter) {
  SizingArguments a = Arguments(1, 1, 16, 1);
  EXPECT_EQ(Sizes(Qwen3Next(), a).splitk_workspace, 48u * 258 * 4);
  a.sm_count = 132;
  EXPECT_EQ(Sizes(Qwen3Next(), a).splitk_workspace, 132u * 258 * 4);
}

TEST(BufferSizesTest, MlaTermsAreIgnoredWithoutKvRank) {
  SizingFields c;
  c.num_attention_heads = 2;
  c.qk_rope_head_dim = kMax;  // would overflow if it were looked at
  c.q_lora_rank = kMax;
  EXPECT_EQ(Sizes(c, Arguments(4, 1, 16, 1)).ssm_ba, 256u);
  c.kv_lora_rank = 1;
  EXPECT_THAT(BufferSizes::FromConfig(c, Arguments(4, 1, 16, 1)),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("ssm_ba")));
}

TEST(BufferSizesTest, OverflowNamesEveryBufferConcernedAndNoOther) {
  SizingFields c = Qwen3Next();
  c.vocab_size = kMax / 2;
  const StatusOr<BufferSizes> sizes = BufferSizes::FromConfig(c, Arguments(96, 4096, 16, 1));
  EXPECT_THAT(sizes, StatusIs(StatusCode::kOutOfRange, StartsWith("logits: the size exceeds")));
  c.num_experts = kMax;
  c.zero_expert_num = 1;
  EXPECT_THAT(
      BufferSizes::FromConfig(c, Arguments(96, 4096, 16, 1)),
      StatusIs(StatusCode::kOutOfRange, StartsWith("gate_logits, gate_logits_f32, logits: ")));
}

TEST(BufferSizesTest, HostileArgumentsOverflowInScratch) {
  const SizingFields c = Qwen3Next();
  for (const SizingArguments& a :
       {Arguments(1, kMax, 1, 1), Arguments(1, kMax, 2, 1), Arguments(1, 64, 16, kMax)}) {
    EXPECT_THAT(BufferSizes::FromConfig(c, a),
                StatusIs(StatusCode::kOutOfRange, HasSubstr("scratch")));
  }
}

TEST(BufferSizesTest, TotalOverflowIsItsOwnError) {
  SizingFields c;
  c.vocab_size = kMax / 2;
  c.hidden_size = 1;
  const BufferSizes s = Sizes(c, Arguments(1, 1, 16, 1));
  EXPECT_EQ(s.logits, kMax - 1);
  EXPECT_THAT(s.TotalBytes(), StatusIs(StatusCode::kOutOfRange, StartsWith("total_bytes: every")));
  EXPECT_THAT(s.UpstreamReportedTotalBytes(),
              StatusIs(StatusCode::kOutOfRange, StartsWith("upstream_reported_total_bytes: ")));
}

TEST(BufferSizesTest, CopiesAndPrints) {
  const BufferSizes s = Sizes(Qwen3Next(), Arguments(1, 4096, 16, 1));
  const BufferSizes copy = s;
  EXPECT_EQ(copy, s);
  std::ostringstream out;
  out << copy;
  EXPECT_THAT(out.str(), HasSubstr("logits               303872\n"));
  EXPECT_THAT(out.str(), HasSubstr("q2_act_q8            0\n"));
}

TEST(BufferSizesTest, ShapesFollowFromSizes) {
  const SizingFields c = Qwen3Next();
  const SizingArguments a = Arguments(64, 4096, 16, 1);
  const BufferSizes s = Sizes(c, a);
  const auto shape = [&](std::string_view name) {
    return BufferShape(*FindBufferField(name), s, c, a);
  };
  EXPECT_EQ(shape("hidden_states"), "[64, 2048] BF16");
  EXPECT_EQ(shape("qkv_output"), "[64, 9216] BF16");
  EXPECT_EQ(shape("gate_logits_f32"), "[64, 512] F32");
  EXPECT_EQ(shape("logits"), "[64, 151936] BF16");
  EXPECT_EQ(shape("splitk_workspace"), "[48, 258] F32");
  EXPECT_EQ(shape("norm_unit_w"), "[2048] BF16");
  EXPECT_EQ(shape("o_latent"), "placeholder");
  EXPECT_EQ(shape("scratch"), "composite");
  EXPECT_EQ(shape("lora_xa"), "NULL");
  SizingArguments wide = a;
  wide.max_batch_tokens = 2048;
  EXPECT_EQ(BufferShape(*FindBufferField("token_ids"), Sizes(c, wide), c, wide), "[2048] U32");
  EXPECT_THAT(shape("expert_gate_out"), Not(HasSubstr("placeholder")));
}

}  // namespace
}  // namespace draftmark
