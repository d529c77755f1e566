#include "benchmarks/replay/benchmark_operands.h"

#include <cmath>

#include "src/base/status_matchers.h"
#include "src/operations/registry.h"

namespace draftmark {
namespace {

TEST(BenchmarkOperands, OfSmallCasesAreThoseOfConformance) {
  for (const Operation& operation : AllOperations()) {
    for (const OperationCase& c : BoundaryCases(operation)) {
      DM_ASSERT_OK_AND_ASSIGN(const BenchmarkOperands made, MakeBenchmarkOperands(c));
      if (!made.exact) continue;
      DM_ASSERT_OK_AND_ASSIGN(const OperandSet expected, MakeOperands(c));
      ASSERT_EQ(made.operands.operands().size(), expected.operands().size());
      for (const Operand& operand : expected.operands()) {
        EXPECT_EQ(made.operands.Get(operand.name).bytes, operand.bytes)
            << c.Id() << " " << operand.name;
      }
    }
    EXPECT_TRUE(MakeBenchmarkOperands(BoundaryCases(operation).front())->exact);
  }
}

double RootMeanSquare(std::span<const BFloat16> values) {
  double sum = 0;
  for (const BFloat16 value : values) sum += value.ToDouble() * value.ToDouble();
  return std::sqrt(sum / static_cast<double>(values.size()));
}

// A pattern that the device repeats, with the scale of the whole.
TEST(BenchmarkOperands, LongWeightsAreAPattern) {
  const OperationCase c = FindCase("op/linear/rows=16,n=151936,k=4096,bias=0,cap=0/bf16").value();
  DM_ASSERT_OK_AND_ASSIGN(const BenchmarkOperands made, MakeBenchmarkOperands(c));
  EXPECT_FALSE(made.exact);
  EXPECT_EQ(made.operands.Get("weight").bytes.size(), 2 * kPatternElements);
  EXPECT_EQ(made.operands.Get("weight").shape, (Shape{151936, 4096}));
  EXPECT_NEAR(RootMeanSquare(made.operands.Elements<BFloat16>("weight")), 1 / std::sqrt(4096.0),
              0.001);
  EXPECT_EQ(made.operands.Get("x").bytes.size(), 2u * 16 * 4096);
}

// What the operation writes into its operands needs all of them on the host.
TEST(BenchmarkOperands, PreparedOnesAreWhole) {
  const OperationCase c = FindCase("op/argmax/rows=4,v=151936/bf16").value();
  DM_ASSERT_OK_AND_ASSIGN(const BenchmarkOperands made, MakeBenchmarkOperands(c));
  EXPECT_FALSE(made.exact);
  const auto logits = made.operands.Elements<BFloat16>("logits");
  ASSERT_EQ(logits.size(), 4u * 151936);
  // Row 0 and row 1 are one pattern long and a half.
  EXPECT_EQ(logits[kPatternElements].ToDouble(), logits[0].ToDouble());
  EXPECT_EQ(logits[kPatternElements + 40000].ToDouble(), logits[40000].ToDouble());
  // Within the pattern it is what conformance has, in the row that nothing is planted in.
  const OperandSet whole = MakeOperands(c).value();
  const auto expected = whole.Elements<BFloat16>("logits");
  for (std::size_t i = 0; i < 151936; ++i) {
    ASSERT_EQ(logits[i].ToDouble(), expected[i].ToDouble()) << i;
  }
  // Row 1 has its planted tie.
  EXPECT_EQ(logits[2 * 151936 - 1].ToDouble(), 20);
  // A table beyond the limit is a pattern all the same; the ids are prepared.
  const OperationCase embed = FindCase("op/embed/rows=16,v=151936,h=4096,mask=0/bf16").value();
  DM_ASSERT_OK_AND_ASSIGN(const BenchmarkOperands table, MakeBenchmarkOperands(embed));
  EXPECT_EQ(table.operands.Get("table").bytes.size(), 2 * kPatternElements);
}

}  // namespace
}  // namespace draftmark
