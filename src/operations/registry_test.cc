#include "src/operations/registry.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

#include "src/base/counter_hash.h"
#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

// The operations of a forward, as the project lists them.
TEST(Registry, HoldsEveryOperationOfTheForward) {
  for (const char* const name :
       {"embed", "linear", "rms_norm", "head_norm", "rope", "kv_write", "paged_attention",
        "silu_mul", "residual_add", "conv_prepare", "conv_finish", "top16", "selector_walk",
        "markov_step", "confidence", "argmax", "slot_fill", "row_gather", "kv_split"}) {
    EXPECT_NE(FindOperation(name), nullptr) << name;
  }
  EXPECT_EQ(AllOperations().size(), 19u);
  EXPECT_EQ(FindOperation("softmax"), nullptr);
}

TEST(Registry, DeclarationsAreComplete) {
  std::set<std::string_view> names;
  for (const Operation& operation : AllOperations()) {
    SCOPED_TRACE(operation.name);
    EXPECT_TRUE(names.insert(operation.name).second) << "declared twice";
    EXPECT_FALSE(operation.summary.empty());
    EXPECT_FALSE(operation.rule.empty());
    EXPECT_NE(operation.reference, nullptr);
    EXPECT_NE(operation.oracle, nullptr);
    EXPECT_NE(operation.tolerance, nullptr);
    EXPECT_NE(operation.flops, nullptr);
    EXPECT_GE(operation.boundary.size(), 5u);
    const auto outputs =
        std::count_if(operation.operands.begin(), operation.operands.end(),
                      [](const OperandSpec& spec) { return spec.role != OperandRole::kInput; });
    EXPECT_GE(outputs, 1);
    for (const OperationCase& c : BoundaryCases(operation)) {
      EXPECT_THAT(MakeOperands(c), IsOk());
      EXPECT_GT(TrafficBytes(c).value(), 0u);
      EXPECT_GE(operation.flops(c.keys), 0);
    }
  }
}

// Both sides of each constraint: the boundary shapes keep them all, and here is one that does not.
TEST(Registry, EveryConstraintHasAShapeThatBreaksIt) {
  for (const Operation& operation : AllOperations()) {
    SCOPED_TRACE(operation.name);
    std::set<ShapeConstraint> broken;
    for (const auto& [constraint, values] : operation.violations) {
      broken.insert(constraint);
      EXPECT_THAT(MakeCase(operation, values),
                  StatusIs(StatusCode::kInvalidArgument,
                           HasSubstr(std::string(ConstraintText(constraint)))));
    }
    EXPECT_EQ(broken, std::set<ShapeConstraint>(operation.constraints.begin(),
                                                operation.constraints.end()));
  }
}

TEST(Registry, IdsLeadBackToTheirCases) {
  for (const Operation& operation : AllOperations()) {
    for (const OperationCase& c : BoundaryCases(operation)) {
      DM_ASSERT_OK_AND_ASSIGN(const OperationCase found, FindCase(c.Id()));
      EXPECT_EQ(found.Id(), c.Id());
    }
  }
}

TEST(Registry, WrongIdsAreNamed) {
  EXPECT_THAT(FindCase("op/softmax/rows=1/bf16"),
              StatusIs(StatusCode::kNotFound, HasSubstr("softmax")));
  EXPECT_THAT(FindCase("draft/x/gamma=1"), StatusIs(StatusCode::kNotFound, HasSubstr("draft/x")));
  EXPECT_THAT(FindCase("op/rms_norm/rows=1,h=8/f16"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("expected dtype bf16, found f16")));
  EXPECT_THAT(FindCase("op/rms_norm/h=8,rows=1/bf16"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("found h in place of rows")));
  EXPECT_THAT(
      FindCase("op/rms_norm/rows=1/bf16"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("expected 2 keys (rows,h), found 1")));
  EXPECT_THAT(FindCase("op/rms_norm/rows=0,h=8/bf16"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("rows: every size is at least 1")));
  DM_ASSERT_OK_AND_ASSIGN(const OperationCase huge,
                          FindCase("op/rms_norm/rows=4294967296,h=4/bf16"));
  EXPECT_THAT(MakeOperands(huge), StatusIs(StatusCode::kResourceExhausted, HasSubstr("bytes")));
}

// An element can be made again from the case id, the operand's name and its index alone.
TEST(Operands, AreCounterBased) {
  DM_ASSERT_OK_AND_ASSIGN(const OperationCase c,
                          FindCase("op/linear/rows=2,n=5,k=48,bias=1,cap=0/bf16"));
  DM_ASSERT_OK_AND_ASSIGN(const OperandSet operands, MakeOperands(c));
  const std::uint64_t seed = SeedOf("op/linear/rows=2,n=5,k=48,bias=1,cap=0/bf16/weight");
  // Variance 1 / 48: uniform in [-1/4, 1/4).
  const BFloat16 expected = BFloat16::FromDouble((2 * UniformAt(seed, 77) - 1) * 0.25);
  EXPECT_EQ(operands.Elements<BFloat16>("weight")[77], expected);
  // Outputs are poisoned.
  for (const BFloat16 value : operands.Elements<BFloat16>("y")) EXPECT_EQ(value.bits, 0xFFFF);
  DM_ASSERT_OK_AND_ASSIGN(const OperationCase without,
                          FindCase("op/linear/rows=2,n=5,k=48,bias=0,cap=0/bf16"));
  DM_ASSERT_OK_AND_ASSIGN(const OperandSet fewer, MakeOperands(without));
  EXPECT_FALSE(fewer.Has("bias"));
}

// Hand-worked: x 2*48, weight 5*48, y 2*5 elements of two bytes; bias 5.
TEST(Operation, TrafficAndFlopsCountWhatMustMove) {
  DM_ASSERT_OK_AND_ASSIGN(const OperationCase c,
                          FindCase("op/linear/rows=2,n=5,k=48,bias=1,cap=0/bf16"));
  EXPECT_EQ(TrafficBytes(c).value(), 2u * (96 + 240 + 10 + 5));
  EXPECT_EQ(c.operation->flops(c.keys), 2.0 * 2 * 5 * 48);
  // Only the rows that are looked up, not the vocabulary: ids, rows read, rows written.
  DM_ASSERT_OK_AND_ASSIGN(const OperationCase embed,
                          FindCase("op/embed/rows=3,v=1000,h=8,mask=0/bf16"));
  EXPECT_EQ(TrafficBytes(embed).value(), 3u * 4 + 2u * (3 * 8 + 3 * 8));
  // In place: read and written.
  DM_ASSERT_OK_AND_ASSIGN(const OperationCase add, FindCase("op/residual_add/rows=3,width=8/bf16"));
  EXPECT_EQ(TrafficBytes(add).value(), 2u * (2 * 24 + 24));
  // A window of 4 over 100 context rows: 2 block rows see 2 + 4 - 1 keys together.
  DM_ASSERT_OK_AND_ASSIGN(
      const OperationCase attention,
      FindCase("op/paged_attention/rows=2,heads=2,kv=1,d=8,ctx=100,window=4,causal=1,sink=0/bf16"));
  EXPECT_EQ(TrafficBytes(attention).value(), 2u * (2 * 32) + 2u * 2 * (5 * 8) + 4u * (7 + 3));
}

// What is written in place and in part counts as written alone: no floor of reads is too high.
TEST(Operation, TrafficIsReadOrWritten) {
  const auto of = [](std::string_view id) { return TrafficOf(FindCase(id).value()).value(); };
  const draftmark::Traffic linear = of("op/linear/rows=2,n=5,k=48,bias=1,cap=0/bf16");
  EXPECT_EQ(linear.read, 2u * (96 + 240 + 5));
  EXPECT_EQ(linear.written, 2u * 10);
  const draftmark::Traffic add = of("op/residual_add/rows=3,width=8/bf16");
  EXPECT_EQ(add.read, 2u * 2 * 24);
  EXPECT_EQ(add.written, 2u * 24);
  const draftmark::Traffic rope = of("op/rope/rows=3,heads=2,d=8,rotary=4,half_head=0/bf16");
  EXPECT_EQ(rope.read, 4u * 2 + 4u * 3);
  EXPECT_EQ(rope.written, 2u * (2 * 3 * 2 * 4));
}

std::uint64_t Traffic(std::string_view id) { return TrafficBytes(FindCase(id).value()).value(); }
double Flops(std::string_view id) {
  const OperationCase c = FindCase(id).value();
  return c.operation->flops(c.keys);
}

// What is not used does not move. All hand-counted.
TEST(Operation, OnlyWhatIsUsedMoves) {
  // Rows 1 and 3 of four are mask rows: ids, two table rows, the mask embedding, four rows out.
  EXPECT_EQ(Traffic("op/embed/rows=4,v=100,h=8,mask=1/bf16"), 4u * 4 + 2u * (2 * 8 + 8 + 4 * 8));
  // 64 of 128 elements of a head turn, read and written; table and positions.
  EXPECT_EQ(Traffic("op/rope/rows=2,heads=3,d=128,rotary=64,half_head=0/bf16"),
            2u * (2 * 2 * 3 * 64) + 4u * 32 + 4u * 2);
  // The fifth of six rows is skipped: K and V read and written, and six slots read.
  EXPECT_EQ(Traffic("op/kv_write/rows=6,kv=2,d=8,blocks=1/bf16"), 2u * (4 * 5 * 16) + 8u * 6);
  // A vanilla head reads no hidden row: previous, rows of w1, w2, embedding, bias, logits twice.
  EXPECT_EQ(Traffic("op/markov_step/rows=2,v=50,r=4,h=8,type=0/bf16"),
            4u * 2 + 2u * (2 * 4 + 50 * 4 + 2 * 4 + 2 * 50 + 2 * 2 * 50));
  // Two bands of eight rows at 12 and 9: entries 0 and 1 of both tables.
  EXPECT_EQ(Traffic("op/slot_fill/rows=16,band=8,ctx=12/bf16"), 4u * 4 + 4u * 2 + 8u * 16);
  // Row 0 of each band is no draft: 3 rows of candidates and codes.
  EXPECT_EQ(Traffic("op/selector_walk/rows=4,band=4,v=64,r=2/bf16"),
            3u * 16 * (4 + 4) + 2u * 3 * 2 + 4u + 2u * (3 * 2 + 3 * 16 * 2) + 4u * 4 + 4u * 3 * 16);
}

// Rows 0 and 1 see 4 keys each of a causal window of 4; without a window all 102.
TEST(Operation, AttentionCountsThePairsThatSeeEachOther) {
  EXPECT_EQ(
      Flops("op/paged_attention/rows=2,heads=2,kv=1,d=8,ctx=100,window=4,causal=1,sink=0/bf16"),
      4.0 * 2 * 8 * 8);
  EXPECT_EQ(
      Flops("op/paged_attention/rows=2,heads=2,kv=1,d=8,ctx=100,window=0,causal=0,sink=0/bf16"),
      4.0 * 2 * 8 * 204);
  // Two-sided: row 0 sees 3 before, itself and row 1; row 1 sees 3 before and itself.
  EXPECT_EQ(
      Flops("op/paged_attention/rows=2,heads=2,kv=1,d=8,ctx=100,window=4,causal=0,sink=0/bf16"),
      4.0 * 2 * 8 * 9);
}

// Sizes near 2^64 are refused before anything is derived from them.
TEST(Registry, AbsurdSizesAreRefused) {
  for (const char* const id :
       {"op/slot_fill/rows=1,band=1,ctx=18446744073709551615/bf16",
        "op/paged_attention/rows=2,heads=1,kv=1,d=1,ctx=18446744073709551615,window=0,causal=0,"
        "sink=0/bf16",
        "op/paged_attention/rows=1,heads=1,kv=1,d=1,ctx=20,window=18446744073709551615,causal=0,"
        "sink=0/bf16",
        "op/slot_fill/rows=1,band=1,ctx=4294967300/bf16"}) {
    EXPECT_THAT(FindCase(id), StatusIs(StatusCode::kInvalidArgument, HasSubstr("2^24"))) << id;
  }
}

TEST(Operation, KnowsItsAttributesAndOperands) {
  const Operation* const norm = FindOperation("rms_norm");
  EXPECT_EQ(norm->attribute("epsilon"), 1e-5);
  ASSERT_NE(norm->operand("weight"), nullptr);
  EXPECT_EQ(norm->operand("weight")->role, OperandRole::kInput);
  EXPECT_EQ(norm->operand("bias"), nullptr);
}

}  // namespace
}  // namespace draftmark
