#include "kernels/registry/device_operations.h"

#include "kernels/conv/conv.h"
#include "kernels/kv_write/kv_write.h"
#include "kernels/linear/linear.h"
#include "kernels/markov_step/markov_step.h"
#include "kernels/markov_step/markov_step_traits.h"
#include "kernels/paged_attention/paged_attention.h"
#include "kernels/paged_attention/paged_attention_traits.h"
#include "kernels/rope/rope.h"
#include "kernels/slot_fill/slot_fill.h"
#include "src/base/status_matchers.h"
#include "src/operations/registry.h"

namespace draftmark::kernels {
namespace {

using ::testing::HasSubstr;

TEST(DeviceOperationsTest, EveryOperationHasAKernelAndNoKernelIsLeftOver) {
  for (const Operation& operation : AllOperations()) {
    EXPECT_NE(FindDeviceOperation(operation.name), nullptr) << operation.name;
  }
  EXPECT_EQ(DeviceOperations().size(), AllOperations().size());
  EXPECT_EQ(FindDeviceOperation("no_such_operation"), nullptr);
}

// What a launcher refuses it refuses before it asks CUDA, so that this needs no device. Addresses
// are made up and never followed.
class RefusalTest : public ::testing::Test {
 protected:
  template <typename T>
  static T* At(std::uintptr_t address) {
    return reinterpret_cast<T*>(address);
  }
  static void ExpectRefused(const Status& status, const char* reason) {
    EXPECT_THAT(status, StatusIs(StatusCode::kInvalidArgument, HasSubstr(reason)));
  }
};

TEST_F(RefusalTest, Rope) {
  const RopeArgs good = {.x = At<BFloat16>(256),
                         .frequency = At<float>(256),
                         .positions = At<std::int32_t>(256),
                         .rows = 1,
                         .heads = 1,
                         .d = 8,
                         .rotary = 8,
                         .partner = 4};
  RopeArgs bad = good;
  bad.rotary = 5;
  ExpectRefused(LaunchRope(bad, nullptr), "rotary is even");
  bad = good;
  bad.rotary = 10;
  ExpectRefused(LaunchRope(bad, nullptr), "within the head");
  bad = good;
  bad.partner = 3;
  ExpectRefused(LaunchRope(bad, nullptr), "within the head");
  bad = good;
  bad.positions = nullptr;
  ExpectRefused(LaunchRope(bad, nullptr), "positions is null");
  bad = good;
  bad.rows = 0;
  bad.x = nullptr;
  EXPECT_THAT(LaunchRope(bad, nullptr), IsOk());  // nothing to do
}

TEST_F(RefusalTest, Conv) {
  const ConvArgs good = {.x = At<BFloat16>(256),
                         .dynamic = At<BFloat16>(256),
                         .base = At<BFloat16>(256),
                         .out = At<BFloat16>(512),
                         .rows = 6,
                         .h = 20,
                         .taps = 2,
                         .group = 4,
                         .band = 3};
  ConvArgs bad = good;
  bad.group = 8;
  ExpectRefused(LaunchConv(bad, nullptr), "conv_prepare: does not hold: group divides h");
  bad = good;
  bad.band = 4;
  ExpectRefused(LaunchConv(bad, nullptr), "band divides rows");
  bad = good;
  bad.side = ConvSide::kFinish;
  bad.out = At<BFloat16>(256);
  ExpectRefused(LaunchConv(bad, nullptr), "conv_finish: does not hold: out does not alias x");
}

TEST_F(RefusalTest, PagedAttention) {
  const PagedAttentionArgs good = {
      .q = At<BFloat16>(256),
      .k_pool = At<BFloat16>(256),
      .v_pool = At<BFloat16>(256),
      .block_tables = At<std::uint32_t>(256),
      .arguments = At<std::uint32_t>(256),
      .out = At<BFloat16>(256),
      .rows = 8,
      .heads = 6,
      .kv = 2,
      .d = 64,
      .table = 4,
      .workspace = At<void>(256),
      .workspace_bytes = PagedAttentionTraits::WorkspaceBytes(1, 8, 6, 2, 64)};
  PagedAttentionArgs bad = good;
  bad.kv = 4;
  ExpectRefused(LaunchPagedAttention(bad, nullptr), "kv divides heads");
  bad = good;
  bad.d = 257;
  ExpectRefused(LaunchPagedAttention(bad, nullptr), "expected d in [1, 256], found 257");
  bad = good;
  bad.workspace_bytes -= 1;
  ExpectRefused(LaunchPagedAttention(bad, nullptr), "expected a workspace of");
  bad = good;
  bad.window = -1;
  ExpectRefused(LaunchPagedAttention(bad, nullptr), "window");
  bad = good;
  bad.slot_positions = At<std::int32_t>(256);
  bad.record_words = 2;
  ExpectRefused(LaunchPagedAttention(bad, nullptr), "slot_positions need records with q_rope_pos");
}

TEST_F(RefusalTest, KvWrite) {
  const KvWriteArgs good = {.k = At<BFloat16>(256),
                            .v = At<BFloat16>(256),
                            .slots = At<std::int32_t>(256),
                            .positions = At<std::int32_t>(256),
                            .k_pool = At<BFloat16>(256),
                            .v_pool = At<BFloat16>(256),
                            .slot_positions = At<std::int32_t>(256),
                            .rows = 2,
                            .width = 8,
                            .pool_slots = 16};
  KvWriteArgs bad = good;
  bad.positions = nullptr;
  ExpectRefused(LaunchKvWrite(bad, nullptr), "positions and slot_positions come together");
  bad = good;
  bad.slot_positions = nullptr;
  ExpectRefused(LaunchKvWrite(bad, nullptr), "positions and slot_positions come together");
  for (const ConstSlots null : {ConstSlots(At<std::int64_t>(0)), ConstSlots(At<std::int32_t>(0))}) {
    bad = good;
    bad.slots = null;
    ExpectRefused(LaunchKvWrite(bad, nullptr), "slots is null");
  }
  bad = good;
  bad.rows = 0;
  bad.slots = {};
  EXPECT_THAT(LaunchKvWrite(bad, nullptr), IsOk());  // nothing to do
}

TEST_F(RefusalTest, SlotFill) {
  const SlotFillArgs good = {.block_tables = At<std::uint32_t>(256),
                             .first = At<std::uint32_t>(256),
                             .slots = At<std::int64_t>(256),
                             .rows = 6,
                             .band = 3,
                             .table = 4,
                             .first_step = 3};
  SlotFillArgs bad = good;
  bad.first_step = 0;
  ExpectRefused(LaunchSlotFill(bad, nullptr), "expected first_step in");
  bad = good;
  bad.band = 4;
  ExpectRefused(LaunchSlotFill(bad, nullptr), "band divides rows");
  for (const Slots null : {Slots(At<std::int64_t>(0)), Slots(At<std::int32_t>(0))}) {
    bad = good;
    bad.slots = null;
    ExpectRefused(LaunchSlotFill(bad, nullptr), "slots is null");
  }
}

TEST_F(RefusalTest, MarkovStep) {
  const MarkovStepArgs good = {
      .type = MarkovHeadType::kRnn,
      .previous = At<std::uint32_t>(256),
      .hidden = At<BFloat16>(256),
      .w1 = At<BFloat16>(256),
      .w2 = At<BFloat16>(256),
      .projection = At<BFloat16>(256),
      .projection_bias = At<BFloat16>(256),
      .state = At<BFloat16>(256),
      .embedding = At<BFloat16>(256),
      .logits = At<BFloat16>(256),
      .rows = 6,
      .v = 100,
      .r = 8,
      .h = 16,
      .sequences = 3,
      .workspace = At<void>(256),
      .workspace_bytes = MarkovStepTraits::WorkspaceBytes(false, 6, 16, 8)};
  MarkovStepArgs bad = good;
  bad.sequences = 4;
  ExpectRefused(LaunchMarkovStep(bad, nullptr), "sequences divides rows");
  bad = good;
  bad.row_step = 2;
  ExpectRefused(LaunchMarkovStep(bad, nullptr), "rows of several steps are dense");
  bad = good;
  bad.state = nullptr;
  ExpectRefused(LaunchMarkovStep(bad, nullptr), "state is null");
  bad = good;
  bad.workspace_bytes = 0;
  ExpectRefused(LaunchMarkovStep(bad, nullptr), "workspace");
}

TEST_F(RefusalTest, Linear) {
  LinearArgs args = {.x = At<BFloat16>(256),
                     .weight = At<BFloat16>(256),
                     .y = At<BFloat16>(256),
                     .rows = 1,
                     .n = 8,
                     .k = 0};
  ExpectRefused(LaunchLinear(args, nullptr, nullptr), "expected k in");
  args.k = 8;
  args.softcap = -1;
  ExpectRefused(LaunchLinear(args, nullptr, nullptr), "softcap is not negative");
}

}  // namespace
}  // namespace draftmark::kernels
