// The other scratch system, BufferArena, in the GPU's memory: every byte by its formula, red zones
// untouched, fills where they belong (spec/buffer_sizes.md section 11).
#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/draft/testing/draft_test.h"
#include "src/scratch/buffer_arena.h"
#include "src/scratch/buffer_fields.h"
#include "src/scratch/checking_allocator.h"
#include "src/scratch/ledger.h"

namespace draftmark::kernels {
namespace {

class BufferArenaGpuTest : public DraftTest {
 protected:
  std::vector<std::byte> Read(DeviceAddress address, std::uint64_t bytes) {
    std::vector<std::byte> read(bytes);
    EXPECT_THAT(allocator().GetBytes(address, read, HandleOf(stream())), IsOk());
    return read;
  }
};

bool AllAre(const std::vector<std::byte>& bytes, unsigned value) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [&](std::byte byte) { return byte == std::byte(value); });
}

TEST_F(BufferArenaGpuTest, EveryByteHasItsFormulaAndItsPlace) {
  // A dense model with an adapter: everything but experts.
  SizingFields fields;
  fields.hidden_size = 1024;
  fields.intermediate_size = 3072;
  fields.vocab_size = 151936;
  fields.num_attention_heads = 16;
  fields.num_key_value_heads = 8;
  fields.head_dim = 128;
  fields.linear_num_key_heads = 4;
  fields.linear_key_head_dim = 128;
  fields.linear_num_value_heads = 8;
  fields.linear_value_head_dim = 128;
  fields.adapter_max_rank = 16;
  const SizingArguments arguments = {.max_batch_tokens = 64,
                                     .max_seq_len = 4096,
                                     .kv_block_size = 16,
                                     .max_batch_size = 8,
                                     .native_q2 = true,
                                     .native_q2_mmq = true};
  CheckingAllocator checked(allocator(), {.wait_for_device = SynchronizeDevice});
  Ledger ledger;
  LedgerAllocator counted(checked, ledger);
  {
    DM_ASSERT_OK_AND_ASSIGN(BufferArena arena,
                            BufferArena::Create(fields, arguments, counted, HandleOf(stream())));
    std::uint64_t total = 0;
    for (const BufferField& field : kBufferFields) {
      const std::uint64_t bytes = arena.sizes().*field.bytes;
      EXPECT_EQ(ledger.Of(field.name).live_bytes, bytes) << field.name;
      EXPECT_EQ((arena.addresses().*field.address).is_null(), bytes == 0) << field.name;
      total += bytes;
    }
    EXPECT_EQ(ledger.Total(MemoryKind::kDevice).live_bytes, total);
    EXPECT_GT(total, std::uint64_t{10} << 20);
    EXPECT_TRUE(AllAre(Read(arena.addresses().norm_unit_w, arena.sizes().norm_unit_w), 0));
    EXPECT_TRUE(AllAre(Read(arena.addresses().residual, arena.sizes().residual), 0xFF)) << "poison";
    ASSERT_THAT(arena.ClearBeforePrefill(HandleOf(stream())), IsOk());
    EXPECT_TRUE(AllAre(Read(arena.addresses().residual, arena.sizes().residual), 0));
    EXPECT_THAT(checked.Check(HandleOf(stream())), IsOk());
    EXPECT_THAT(arena.Release(), IsOk());
  }
  EXPECT_EQ(ledger.Total().live_bytes, 0u);
  EXPECT_EQ(allocator().live_count(), 0u);
}

}  // namespace
}  // namespace draftmark::kernels
