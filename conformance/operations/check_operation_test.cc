#include "conformance/operations/check_operation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/status_matchers.h"
#include "src/operations/registry.h"
#include "src/tensor/bfloat16.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

class EveryOperation : public ::testing::TestWithParam<std::string_view> {
 protected:
  const Operation& operation() const { return *FindOperation(GetParam()); }
};

std::vector<std::string_view> Names() {
  std::vector<std::string_view> names;
  for (const Operation& operation : AllOperations()) names.push_back(operation.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryOperation, ::testing::ValuesIn(Names()),
                         [](const auto& operation) { return std::string(operation.param); });

// The reference against a formula written apart from it, at every boundary shape.
TEST_P(EveryOperation, ReferenceAgreesWithItsOracle) {
  for (const Precision precision : {Precision::kExact, Precision::kBf16}) {
    for (const OperationCase& c : BoundaryCases(operation())) {
      DM_ASSERT_OK_AND_ASSIGN(const OperationReport report, CheckReference(c, precision));
      EXPECT_TRUE(report.passed()) << ReportText(report);
      EXPECT_FALSE(report.verdicts.empty());
      // One rounding is half a spacing: more would mean that the bounds fit something else.
      if (precision == Precision::kBf16) {
        EXPECT_LE(report.UsedShare(), 0.5) << ReportText(report);
      }
    }
  }
}

// The next value of the element's type: for ids the next id.
double Next(DType dtype, double value) {
  if (dtype == DType::kF32) return value + std::max(0.01, std::abs(value) * 1e-5);
  if (dtype != DType::kBF16) return value + 1;
  if (std::isnan(value)) return 0;
  const double up = std::max(std::abs(value) / 128, std::ldexp(1, -133));
  return BFloat16::FromDouble(value < 0 ? value - up : value + up).ToDouble();
}

// The mutant of every check: one element of one output off by a step is found, wherever it is.
TEST_P(EveryOperation, OneElementOffByOneStepIsFound) {
  const std::vector<OperationCase> cases = BoundaryCases(operation());
  for (const OperationCase& c : {cases[1], cases[2]}) {
    DM_ASSERT_OK_AND_ASSIGN(const OperandSet operands, MakeOperands(c));
    const OperandValues good = operation().reference(c, operands, Precision::kBf16);
    for (const auto& [name, values] : good) {
      for (const std::size_t i : {std::size_t{0}, values.size() / 2, values.size() - 1}) {
        OperandValues bad = good;
        bad[name][i] = Next(operands.Get(name).dtype, values[i]);
        DM_ASSERT_OK_AND_ASSIGN(
            const OperationReport report,
            CheckOperation(c, Precision::kBf16, "mutant", SumType::kFloat64,
                           [&](const OperationCase&, const OperandSet&) { return bad; }));
        EXPECT_FALSE(report.passed()) << c.Id() << " " << name << " " << i;
        EXPECT_THAT(ReportText(report), HasSubstr(name + " (T"));
      }
    }
  }
}

// Three steps off at the largest element, where nothing has cancelled, is beyond every class.
TEST_P(EveryOperation, ThreeStepsAreBeyondWhatAnFp32SumExcuses) {
  for (const OperationCase& c : BoundaryCases(operation())) {
    DM_ASSERT_OK_AND_ASSIGN(const OperandSet operands, MakeOperands(c));
    const OperandValues good = operation().reference(c, operands, Precision::kBf16);
    for (const auto& [name, values] : good) {
      const auto largest = std::max_element(values.begin(), values.end(), [](double a, double b) {
        return std::isnan(a) || std::abs(a) < std::abs(b);
      });
      const auto i = static_cast<std::size_t>(largest - values.begin());
      OperandValues bad = good;
      for (int step = 0; step < 3; ++step) {
        bad[name][i] = Next(operands.Get(name).dtype, bad[name][i]);
      }
      DM_ASSERT_OK_AND_ASSIGN(
          const OperationReport report,
          CheckOperation(c, Precision::kBf16, "mutant", SumType::kFloat32,
                         [&](const OperationCase&, const OperandSet&) { return bad; }));
      EXPECT_FALSE(report.passed()) << c.Id() << " " << name << " " << values[i];
    }
  }
}

TEST_P(EveryOperation, NanWhereNoneBelongsIsFound) {
  const OperationCase c = BoundaryCases(operation())[2];
  DM_ASSERT_OK_AND_ASSIGN(const OperandSet operands, MakeOperands(c));
  const OperandValues good = operation().reference(c, operands, Precision::kBf16);
  for (const auto& [name, values] : good) {
    for (const double wrong : {std::nan(""), std::numeric_limits<double>::infinity()}) {
      OperandValues bad = good;
      bad[name].back() = wrong;
      DM_ASSERT_OK_AND_ASSIGN(
          const OperationReport report,
          CheckOperation(c, Precision::kBf16, "mutant", SumType::kFloat32,
                         [&](const OperationCase&, const OperandSet&) { return bad; }));
      EXPECT_FALSE(report.passed()) << c.Id() << " " << name;
    }
  }
}

OperationReport Report(const OperationCase& c, const OperandValues& values, SumType sums) {
  return CheckOperation(c, Precision::kBf16, "test", sums,
                        [&](const OperationCase&, const OperandSet&) { return values; })
      .value();
}

// A step of the bias that one row never got is no rounding.
TEST(CheckOperation, ADroppedBiasIsFoundInFp32) {
  DM_ASSERT_OK_AND_ASSIGN(const OperationCase c,
                          FindCase("op/markov_step/rows=1,v=4099,r=256,h=8,type=0/bf16"));
  DM_ASSERT_OK_AND_ASSIGN(const OperandSet operands, MakeOperands(c));
  OperandValues values = c.operation->reference(c, operands, Precision::kBf16);
  for (std::size_t i = 0; i < values["logits"].size(); ++i) {
    values["logits"][i] = operands.Elements<BFloat16>("logits")[i].ToDouble();
  }
  const OperationReport report =
      CheckOperation(c, Precision::kBf16, "mutant", SumType::kFloat32,
                     [&](const OperationCase&, const OperandSet&) { return values; })
          .value();
  for (const OutputVerdict& verdict : report.verdicts) {
    if (verdict.output != "logits") continue;
    // Nearly every element: only a bias below a step of its logit goes unseen.
    EXPECT_GT(verdict.comparison.exceeding, 3900u);
  }
}

// Keys that decide a row are placed at the ends of the cache and at the window's border: one key
// too few or too many is no rounding, however long the context.
TEST(CheckOperation, OneKeyMoreOrLessIsFoundInFp32) {
  const auto with = [](std::uint64_t ctx, std::uint64_t window, std::uint64_t causal) {
    return MakeCase(*FindOperation("paged_attention"), {2, 4, 1, 128, ctx, window, causal, 0})
        .value();
  };
  const auto judge = [](const OperationCase& judged, const OperationCase& computed,
                        std::uint32_t keys_less) {
    OperandSet operands = MakeOperands(judged).value();
    operands.MutableElements<std::uint32_t>("arguments")[0] -= keys_less;
    const OperandValues values = judged.operation->reference(computed, operands, Precision::kBf16);
    return Report(judged, values, SumType::kFloat32).passed();
  };
  const OperationCase full = with(4101, 0, 0);
  EXPECT_TRUE(judge(full, full, 0));
  EXPECT_FALSE(judge(full, full, 1));  // the last key is lost
  const OperationCase window = with(4101, 4096, 1);
  EXPECT_TRUE(judge(window, window, 0));
  EXPECT_FALSE(judge(window, with(4101, 4097, 1), 0));
  EXPECT_FALSE(judge(window, with(4101, 4095, 1), 0));
}

TEST(CheckOperation, OutputsMustBeThereWholeAndKnown) {
  DM_ASSERT_OK_AND_ASSIGN(const OperationCase c, FindCase("op/residual_add/rows=2,width=3/bf16"));
  EXPECT_THAT(ReportText(Report(c, {}, SumType::kFloat32)), HasSubstr("x (T1): missing"));
  EXPECT_THAT(ReportText(Report(c, {{"x", {1, 2}}}, SumType::kFloat32)),
              HasSubstr("expected 6 elements, found 2"));
  DM_ASSERT_OK_AND_ASSIGN(const OperandSet operands, MakeOperands(c));
  OperandValues values = c.operation->reference(c, operands, Precision::kBf16);
  values["y"] = {1};
  EXPECT_THAT(ReportText(Report(c, values, SumType::kFloat32)),
              HasSubstr("y (T1): not an output of this operation"));
}

TEST(CheckOperation, UnroundedResultsAreRefused) {
  DM_ASSERT_OK_AND_ASSIGN(const OperationCase c, FindCase("op/silu_mul/rows=7,width=127/bf16"));
  DM_ASSERT_OK_AND_ASSIGN(const OperandSet operands, MakeOperands(c));
  const OperandValues exact = c.operation->reference(c, operands, Precision::kExact);
  EXPECT_THAT(ReportText(Report(c, exact, SumType::kFloat32)), HasSubstr("is no BF16 number"));
}

// An FP32 sum may fall on the other side of a midpoint, a float64 sum may not: one BF16 step is
// allowed to the former only.
TEST(CheckOperation, TheSumTypeDecidesAtMidpoints) {
  DM_ASSERT_OK_AND_ASSIGN(const OperationCase c,
                          FindCase("op/linear/rows=1,n=127,k=128,bias=0,cap=0/bf16"));
  DM_ASSERT_OK_AND_ASSIGN(const OperandSet operands, MakeOperands(c));
  const OracleValues oracle = c.operation->oracle(c, operands, Precision::kBf16);
  OperandValues values = c.operation->reference(c, operands, Precision::kBf16);
  // The other neighbour of the oracle's value, at most one step away from it.
  const double expected = oracle.at("y").values[5];
  double& got = values["y"][5];
  const double step = Spacing(got, UlpUnit::kBf16);
  got = BFloat16::FromDouble(got < expected ? got + step : got - step).ToDouble();
  EXPECT_EQ(Report(c, values, SumType::kFloat64).Signature(), "y: rounding");
  const OperationReport report = Report(c, values, SumType::kFloat32);
  EXPECT_TRUE(report.passed()) << ReportText(report);
  EXPECT_GT(report.UsedShare(), 0.5);
  EXPECT_LE(report.UsedShare(), 1);
}

TEST(CheckOperation, FailuresNameElementClassAndCommand) {
  DM_ASSERT_OK_AND_ASSIGN(const OperationCase c, FindCase("op/rms_norm/rows=2,h=8/bf16"));
  DM_ASSERT_OK_AND_ASSIGN(const OperandSet operands, MakeOperands(c));
  OperandValues values = c.operation->reference(c, operands, Precision::kBf16);
  values["y"][11] = 64;
  const OperationReport report = Report(c, values, SumType::kFloat32);
  const std::string text = ReportText(report);
  EXPECT_THAT(text, HasSubstr("FAIL op/rms_norm/rows=2,h=8/bf16 test bf16\n"));
  EXPECT_THAT(text, HasSubstr("y (T1): 1 of 16 elements off; worst [1, 3]: expected "));
  EXPECT_THAT(text, HasSubstr("got 64"));
  EXPECT_THAT(text, HasSubstr("signature: y: bound\n"));
  EXPECT_THAT(text, HasSubstr("reproduce: draftmark verify op/rms_norm/rows=2,h=8/bf16"));
  const OrderedJson json = ReportJson(report);
  EXPECT_EQ(json["case"], "op/rms_norm/rows=2,h=8/bf16");
  EXPECT_FALSE(json["passed"].get<bool>());
  EXPECT_EQ(json["outputs"][0]["class"], "T1");
}

}  // namespace
}  // namespace draftmark
