#include "src/scratch/buffer_arena.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/status_matchers.h"
#include "src/scratch/buffer_sharing.h"
#include "src/scratch/fault_injection.h"
#include "src/scratch/host_allocator.h"
#include "src/scratch/ledger.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A small Qwen3-Next: GDN and experts, no Mamba, no adapter.
SizingFields Config() {
  SizingFields c;
  c.hidden_size = 64;
  c.intermediate_size = 96;
  c.vocab_size = 100;
  c.num_attention_heads = 4;
  c.num_key_value_heads = 2;
  c.head_dim = 16;
  c.linear_num_key_heads = 1;
  c.linear_key_head_dim = 128;
  c.linear_num_value_heads = 2;
  c.linear_value_head_dim = 128;
  c.num_experts = 8;
  c.num_experts_per_tok = 2;
  c.moe_intermediate_size = 32;
  return c;
}

constexpr SizingArguments kArguments{
    .max_batch_tokens = 4, .max_seq_len = 64, .kv_block_size = 16, .max_batch_size = 2};

// Everything present: 41 allocations.
SizingFields FullConfig() {
  SizingFields c = Config();
  c.num_experts = 0;
  c.mamba_num_heads = 2;
  c.mamba_head_dim = 8;
  c.ssm_state_size = 4;
  c.adapter_max_rank = 4;
  return c;
}
SizingArguments FullArguments() {
  SizingArguments a = kArguments;
  a.native_q2 = true;
  a.native_q2_mmq = true;
  return a;
}

bool AllBytesAre(DeviceAddress address, std::uint64_t bytes, unsigned char value) {
  const auto* data = static_cast<const unsigned char*>(address.value);
  for (std::uint64_t i = 0; i < bytes; ++i) {
    if (data[i] != value) return false;
  }
  return true;
}

struct Memory {
  explicit Memory(FaultPlan plan = {}) : faults(host, std::move(plan)), allocator(faults, ledger) {}
  HostAllocator host{{.poison = Poison::kOnes}};
  FaultInjectingAllocator faults;
  Ledger ledger;
  LedgerAllocator allocator;
};

TEST(BufferArenaTest, AllocatesThirtyAndTheNonEmptyNullableOnesInOrder) {
  Memory memory;
  DM_ASSERT_OK_AND_ASSIGN(const BufferArena arena,
                          BufferArena::Create(Config(), kArguments, memory.allocator));
  EXPECT_EQ(memory.ledger.Total().live_count, 31u);  // 30 and gdn_fla_scratch
  EXPECT_EQ(memory.ledger.Total().live_bytes, arena.sizes().TotalBytes().value());
  EXPECT_EQ(arena.max_batch_tokens(), 4u);
  EXPECT_EQ(arena.decode_rows(), 32u);
  const std::vector<LedgerLine> lines = memory.ledger.Lines();
  std::size_t next = 0;
  for (const BufferField* field : kBufferFieldsInArenaOrder) {
    const DeviceAddress address = arena.addresses().*field->address;
    if (arena.sizes().*field->bytes == 0) {
      EXPECT_TRUE(address.is_null()) << field->name;
      continue;
    }
    ASSERT_LT(next, lines.size());
    EXPECT_EQ(lines[next].tag, field->name);
    EXPECT_EQ(lines[next].account.live_bytes, arena.sizes().*field->bytes);
    EXPECT_EQ(address.bits() % kDeviceAlignment, 0u);
    ++next;
  }
  EXPECT_TRUE(arena.addresses().ssd_scratch.is_null());
  EXPECT_TRUE(arena.addresses().lora_xa.is_null());
}

TEST(BufferArenaTest, EverythingPresentIsFortyOneDistinctBuffers) {
  Memory memory;
  DM_ASSERT_OK_AND_ASSIGN(const BufferArena arena,
                          BufferArena::Create(FullConfig(), FullArguments(), memory.allocator));
  EXPECT_EQ(memory.ledger.Total().live_count, 41u);
  // No two alias: sorted by address, each ends before the next begins.
  std::set<std::pair<std::uintptr_t, std::uint64_t>> ranges;
  for (const BufferField& field : kBufferFields) {
    ranges.emplace((arena.addresses().*field.address).bits(), arena.sizes().*field.bytes);
  }
  ASSERT_EQ(ranges.size(), 41u);
  std::uintptr_t end = 0;
  for (const auto& [begin, bytes] : ranges) {
    EXPECT_LE(end, begin);
    end = begin + bytes;
  }
}

TEST(BufferArenaTest, OnlyTheUnitWeightIsInitialised) {
  Memory memory;
  DM_ASSERT_OK_AND_ASSIGN(const BufferArena arena,
                          BufferArena::Create(FullConfig(), FullArguments(), memory.allocator));
  for (const BufferField& field : kBufferFields) {
    EXPECT_TRUE(AllBytesAre(arena.addresses().*field.address, arena.sizes().*field.bytes,
                            field.name == "norm_unit_w" ? 0x00 : 0xFF))
        << field.name;
  }
}

TEST(BufferArenaTest, EmptyBuffersAreRefusedByNameBeforeAllocating) {
  Memory memory;
  SizingArguments no_rows = kArguments;
  no_rows.max_batch_tokens = 0;
  EXPECT_THAT(BufferArena::Create(Config(), no_rows, memory.allocator),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(StartsWith("hidden_states, residual, "), HasSubstr("found 0"))));
  SizingFields no_width = Config();
  no_width.hidden_size = 0;
  EXPECT_THAT(BufferArena::Create(no_width, kArguments, memory.allocator),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("hidden_states")));
  SizingFields no_ffn = Config();
  no_ffn.num_experts = 0;
  no_ffn.intermediate_size = 0;
  EXPECT_THAT(
      BufferArena::Create(no_ffn, kArguments, memory.allocator),
      StatusIs(StatusCode::kInvalidArgument, StartsWith("expert_gate_out, expert_up_out: ")));
  EXPECT_EQ(memory.faults.allocations(), 0u);
}

TEST(BufferArenaTest, SizingErrorsPassThrough) {
  Memory memory;
  SizingFields c = Config();
  c.vocab_size = ~std::uint64_t{0};
  EXPECT_THAT(BufferArena::Create(c, kArguments, memory.allocator),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("logits")));
}

TEST(BufferArenaTest, AFailedAllocationRollsEverythingBack) {
  for (std::uint64_t k = 1; k <= 41; ++k) {
    Memory memory({.fail_allocation = k});
    const std::string name(kBufferFieldsInArenaOrder[k - 1]->name);
    EXPECT_THAT(BufferArena::Create(FullConfig(), FullArguments(), memory.allocator),
                StatusIs(StatusCode::kResourceExhausted, StartsWith(name + ": injected")));
    EXPECT_EQ(memory.ledger.Total().live_bytes, 0u);
    EXPECT_EQ(memory.ledger.Total().live_count, 0u);
    EXPECT_EQ(memory.host.live_count(), 0u);
    EXPECT_EQ(memory.faults.frees(), k - 1);
  }
}

TEST(BufferArenaTest, AFailedFillRollsBackToo) {
  Memory memory({.fail_fill = 1});
  EXPECT_THAT(BufferArena::Create(Config(), kArguments, memory.allocator),
              StatusIs(StatusCode::kInternal, StartsWith("norm_unit_w: injected")));
  EXPECT_EQ(memory.host.live_count(), 0u);
}

TEST(BufferArenaTest, AFailedRollBackIsReportedWithItsCause) {
  Memory memory({.fail_allocation = 5, .fail_frees = {2}});
  EXPECT_THAT(BufferArena::Create(Config(), kArguments, memory.allocator),
              StatusIs(StatusCode::kResourceExhausted,
                       AllOf(StartsWith("attn_output"), HasSubstr("residual: injected"))));
  EXPECT_EQ(memory.host.live_count(), 1u);  // the one whose free failed; the others are back
}

TEST(BufferArenaTest, ReleaseTwiceIsFine) {
  Memory memory;
  DM_ASSERT_OK_AND_ASSIGN(BufferArena arena,
                          BufferArena::Create(Config(), kArguments, memory.allocator));
  EXPECT_THAT(arena.Release(), IsOk());
  EXPECT_EQ(memory.host.live_count(), 0u);
  EXPECT_EQ(arena.addresses(), BufferAddresses());
  EXPECT_THAT(arena.Release(), IsOk());
  EXPECT_EQ(memory.faults.frees(), 31u);
  EXPECT_THAT(arena.ClearBeforePrefill({}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("hidden_states")));
}

TEST(BufferArenaTest, ReleaseGoesOnAfterAFailedFreeAndReportsTheFirst) {
  Memory memory({.fail_frees = {3, 10}});
  DM_ASSERT_OK_AND_ASSIGN(BufferArena arena,
                          BufferArena::Create(Config(), kArguments, memory.allocator));
  EXPECT_THAT(arena.Release(), StatusIs(StatusCode::kInternal,
                                        AllOf(StartsWith("norm_output: "), HasSubstr("free 3"))));
  EXPECT_EQ(memory.faults.frees(), 31u);
  EXPECT_EQ(memory.host.live_count(), 2u);
  EXPECT_EQ(arena.addresses(), BufferAddresses());
  EXPECT_THAT(arena.Release(), IsOk());
}

TEST(BufferArenaTest, DestructionAndMovesFreeEachBufferOnce) {
  Memory memory;
  {
    DM_ASSERT_OK_AND_ASSIGN(BufferArena first,
                            BufferArena::Create(Config(), kArguments, memory.allocator));
    DM_ASSERT_OK_AND_ASSIGN(BufferArena second,
                            BufferArena::Create(Config(), kArguments, memory.allocator));
    EXPECT_EQ(memory.host.live_count(), 62u);
    second = std::move(first);
    EXPECT_EQ(memory.host.live_count(), 31u);
    BufferArena third(std::move(second));
    EXPECT_FALSE(third.addresses().logits.is_null());
    EXPECT_EQ(memory.host.live_count(), 31u);
  }
  EXPECT_EQ(memory.host.live_count(), 0u);
}

std::set<std::string> Cleared(const BufferArena& arena) {
  std::set<std::string> cleared;
  for (const BufferField& field : kBufferFields) {
    if (field.name != "norm_unit_w" &&
        AllBytesAre(arena.addresses().*field.address, arena.sizes().*field.bytes, 0)) {
      cleared.insert(std::string(field.name));
    }
  }
  return cleared;
}

TEST(BufferArenaTest, ClearingBeforeAPrefillChunk) {
  Memory memory;
  DM_ASSERT_OK_AND_ASSIGN(BufferArena arena,
                          BufferArena::Create(FullConfig(), FullArguments(), memory.allocator));
  EXPECT_THAT(arena.ClearBeforePrefill({}), IsOk());
  EXPECT_EQ(Cleared(arena),
            (std::set<std::string>{"hidden_states", "residual", "gate_logits", "expert_gate_out",
                                   "expert_up_out", "expert_down_out", "moe_output"}));
}

TEST(BufferArenaTest, ClearingBetweenRequests) {
  Memory memory;
  DM_ASSERT_OK_AND_ASSIGN(BufferArena arena,
                          BufferArena::Create(FullConfig(), FullArguments(), memory.allocator));
  EXPECT_THAT(arena.ClearBetweenRequests({}), IsOk());
  std::set<std::string> expected;  // fields 1-6 and 9-20
  for (int i = 1; i <= 20; ++i) {
    if (i != 7 && i != 8) expected.insert(std::string(kBufferFields[i - 1].name));
  }
  EXPECT_EQ(Cleared(arena), expected);
}

TEST(BufferArenaTest, AFailedClearNamesTheBuffer) {
  Memory memory({.fail_fill = 3});  // the first is norm_unit_w's
  DM_ASSERT_OK_AND_ASSIGN(BufferArena arena,
                          BufferArena::Create(Config(), kArguments, memory.allocator));
  EXPECT_THAT(arena.ClearBeforePrefill({}),
              StatusIs(StatusCode::kInternal, StartsWith("residual: injected")));
}

TEST(BufferSharingTest, UsesCanBeAskedForAndPrinted) {
  EXPECT_EQ(UsesOf("ssm_qkvz").size(), 4u);
  EXPECT_EQ(UsesOf("ssm_ba").size(), 4u);
  EXPECT_TRUE(UsesOf("hidden_states").empty());
  EXPECT_THAT(SharingToString(), HasSubstr("(not provisioned)"));
  int unprovisioned = 0;
  for (const BufferUse& use : BufferUses()) {
    unprovisioned += !use.provisioned;
    EXPECT_NE(FindBufferField(use.buffer), nullptr) << use.buffer;  // no misspelt name
  }
  EXPECT_EQ(unprovisioned, 2);
}

TEST(BufferSharingTest, MtpRowsOfQwen3NextFitFromSixtyFourTokens) {
  SizingFields c = Config();
  c.hidden_size = 2048;
  c.linear_num_value_heads = 32;
  const auto check = [&](std::uint64_t m) {
    SizingArguments a = kArguments;
    a.max_batch_tokens = m;
    return CheckMtpRowsFit(BufferSizes::FromConfig(c, a).value(), c.hidden_size);
  };
  EXPECT_THAT(check(15), StatusIs(StatusCode::kFailedPrecondition,
                                  AllOf(StartsWith("ssm_gates: "), HasSubstr("4096 bytes"),
                                        HasSubstr("found 3840"))));
  EXPECT_THAT(check(16), StatusIs(StatusCode::kFailedPrecondition, StartsWith("ssm_ba: ")));
  EXPECT_THAT(check(63), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("8192 bytes")));
  EXPECT_THAT(check(64), IsOk());
  EXPECT_THAT(CheckMtpRowsFit(BufferSizes(), ~std::uint64_t{0}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("more than 2^64-1")));
}

}  // namespace
}  // namespace draftmark
