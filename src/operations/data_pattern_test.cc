// Extreme data: what each pattern writes, where, and that the reference holds on all of them.
#include "src/operations/data_pattern.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "src/base/status_matchers.h"
#include "src/operations/registry.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

std::vector<double> Applied(DataPattern pattern, const Extreme& extreme) {
  std::vector<BFloat16> values(64, BFloat16::FromDouble(1.5));
  values[0] = BFloat16::FromDouble(0.25);
  values[5].bits = 0xFFFF;  // poison
  ApplyPattern(pattern, extreme, 7, values, 8);
  EXPECT_EQ(values[5].bits, 0xFFFF);
  values[5] = values[4];
  std::vector<double> doubles;
  doubles.reserve(values.size());
  for (const BFloat16 value : values) doubles.push_back(value.ToDouble());
  return doubles;
}

TEST(DataPatternTest, EachWritesWhatItSays) {
  for (const double x : Applied(DataPattern::kDenormal, {"x", 0})) {
    EXPECT_NE(x, 0);
    EXPECT_LT(std::abs(x), 0x1p-126);
  }
  std::set<double> signs;
  for (const double x : Applied(DataPattern::kLargest, {"x", 60})) {
    EXPECT_GE(std::abs(x), 0x1p60);
    EXPECT_LT(std::abs(x), 0x1p61);
    signs.insert(std::copysign(1, x));
  }
  EXPECT_EQ(signs.size(), 2u);
  bool maximum = false;
  for (const double x : Applied(DataPattern::kLargest, {"x", 127})) {
    EXPECT_TRUE(std::isfinite(x));
    maximum = maximum || x == 0x1.FEp127;
  }
  EXPECT_TRUE(maximum);
  const std::vector<double> equal = Applied(DataPattern::kEqual, {"x", 0});
  EXPECT_EQ(std::vector<double>(equal.begin(), equal.begin() + 8), std::vector<double>(8, 0.25));
  EXPECT_EQ(equal[8], 1.5);
  const std::vector<double> ties = Applied(DataPattern::kTies, {"x", 0});
  EXPECT_EQ(std::set<double>(ties.begin(), ties.end()), (std::set<double>{-1, -0.5, 0.5, 1}));
  int negative = 0;
  for (const double x : Applied(DataPattern::kZero, {"x", 0})) {
    EXPECT_EQ(x, 0);
    negative += std::signbit(x) ? 1 : 0;
  }
  EXPECT_GT(negative, 16);
}

TEST(DataPatternTest, MinusInfinityWhereItHasAMeaning) {
  const std::vector<double> none = Applied(DataPattern::kNegInf, {"x", 0});
  EXPECT_EQ(none[1], 1.5);
  const std::vector<double> some = Applied(DataPattern::kNegInf, {"x", 0, true});
  for (std::size_t i = 24; i < 32; ++i) EXPECT_EQ(some[i], -INFINITY);  // every fourth row
  EXPECT_GT(std::count(some.begin(), some.begin() + 24, -INFINITY), 4);
  EXPECT_LT(std::count(some.begin(), some.begin() + 24, -INFINITY), 20);
}

TEST(DataPatternTest, NamesAreIdsAndBack) {
  for (const DataPattern pattern : AllDataPatterns()) {
    EXPECT_EQ(FindDataPattern(DataPatternName(pattern)), pattern);
  }
  EXPECT_EQ(FindDataPattern("huge"), std::nullopt);
  const std::string id = "op/top16/rows=3,v=40/bf16/neginf";
  DM_ASSERT_OK_AND_ASSIGN(const OperationCase c, FindCase(id));
  EXPECT_EQ(c.Id(), id);
  EXPECT_THAT(FindCase("op/top16/rows=3,v=40/bf16/huge"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("one of denormal, largest, equal")));
  EXPECT_THAT(FindCase("op/rms_norm/rows=3,h=40/bf16/neginf"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("found neginf")));
}

TEST(DataPatternTest, ExtremesAreOperandsOfBf16) {
  for (const Operation& operation : AllOperations()) {
    for (const Extreme& extreme : operation.extremes) {
      const OperandSpec* const spec = operation.operand(extreme.operand);
      ASSERT_NE(spec, nullptr) << operation.name << " " << extreme.operand;
      EXPECT_EQ(spec->dtype, DType::kBF16);
      EXPECT_NE(spec->role, OperandRole::kOutput);
    }
  }
}

// Its data may be null, which UBSan lets no memset have.
TEST(FillOperandTest, AnOperandMayBeEmpty) {
  for (const Fill fill : {Fill::kPoison, Fill::kActivation, Fill::kPrepared}) {
    Operand empty{.name = "empty", .shape = {0, 8}, .bytes = {}};
    FillOperand(fill, 1, 0, empty);
    EXPECT_TRUE(empty.bytes.empty());
  }
}

// Found by random testing: the oracle's sigmoid cancelled where a gate is all but closed.
TEST(DataPatternTest, AClosedGateIsNotZero) {
  DM_ASSERT_OK_AND_ASSIGN(const OperationCase c,
                          FindCase("op/markov_step/rows=1,v=1,r=1,h=6,type=1/bf16"));
  DM_ASSERT_OK_AND_ASSIGN(OperandSet in, MakeOperands(c));
  in.MutableElements<BFloat16>("gate_bias")[0] = BFloat16::FromDouble(-90);
  const OracleValues oracle = c.operation->oracle(c, in, Precision::kExact);
  const OperandValues reference = c.operation->reference(c, in, Precision::kExact);
  const double expected = reference.at("bias")[0];
  ASSERT_NE(expected, 0);
  EXPECT_NEAR(oracle.at("bias").values[0] / expected, 1, 1e-12);
}

}  // namespace
}  // namespace draftmark
