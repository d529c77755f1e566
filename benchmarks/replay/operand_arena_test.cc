#include "benchmarks/replay/operand_arena.h"

#include "src/base/status_matchers.h"
#include "src/operations/registry.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

// x is read and written, delta only read: 48 bytes each, with guards of 256 on both sides.
class OperandArenaTest : public ::testing::Test {
 protected:
  OperandSet operands_ =
      MakeOperands(FindCase("op/residual_add/rows=3,width=8/bf16").value()).value();
  OperandLayout layout_ = LayOut(operands_, 256).value();
  std::byte read_[4096] = {};
  std::byte written_[4096] = {};
  OperandArena arena_{operands_, layout_, read_, written_};
};

TEST_F(OperandArenaTest, TheLayoutIsByRole) {
  EXPECT_EQ(layout_.read, 768u);  // 560, aligned
  EXPECT_EQ(layout_.written, 768u);
  const OperandSet linear =
      MakeOperands(FindCase("op/linear/rows=2,n=5,k=48,bias=1,cap=0/bf16").value()).value();
  DM_ASSERT_OK_AND_ASSIGN(const OperandLayout of_linear, LayOut(linear, 256));
  EXPECT_EQ(of_linear.read, 768u + 1024u + 768u);  // x 192, weight 480, bias 10
  EXPECT_EQ(of_linear.written, 768u);
}

TEST_F(OperandArenaTest, CopiesLieBehindEachOther) {
  for (const std::uint64_t copy : {0u, 1u, 4u}) {
    arena_.BeginCopy(copy);
    DM_ASSERT_OK_AND_ASSIGN(const DeviceAddress x, arena_.Allocate({.bytes = 560, .tag = "x"}));
    DM_ASSERT_OK_AND_ASSIGN(const DeviceAddress delta,
                            arena_.Allocate({.bytes = 560, .tag = "delta"}));
    EXPECT_EQ(x.value, written_ + copy * 768);
    EXPECT_EQ(delta.value, read_ + copy * 768);
  }
}

TEST_F(OperandArenaTest, ACopyHasNoMoreThanItsRoom) {
  arena_.BeginCopy(0);
  EXPECT_THAT(arena_.Allocate({.bytes = 560, .tag = "x"}), IsOk());
  EXPECT_THAT(arena_.Allocate({.bytes = 1, .tag = "x"}).status(),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("x: 1 bytes are wanted, and 0")));
  EXPECT_THAT(arena_.Allocate({.bytes = 0, .tag = "delta"}).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("")));
}

TEST_F(OperandArenaTest, MemoryIsNotTouched) {
  EXPECT_THAT(arena_.SetBytes({read_}, 16, 0xFF, {}), IsOk());
  EXPECT_EQ(read_[0], std::byte{0});
  EXPECT_THAT(arena_.Free({read_}), IsOk());
  EXPECT_THAT(arena_.GetBytes({read_}, {}, {}),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("")));
  EXPECT_THAT(arena_.PutBytes({read_}, {}, {}),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("")));
}

}  // namespace
}  // namespace draftmark
