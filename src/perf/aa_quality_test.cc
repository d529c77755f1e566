#include "src/perf/aa_quality.h"

#include <cmath>

#include "gtest/gtest.h"

namespace draftmark {
namespace {

GateCase Case(Verdict verdict, double ratio, double variation = 0.01) {
  GateCase c;
  c.judged.name = "a";
  c.judged.verdict = verdict;
  c.judged.judgement = Judgement{};
  c.judged.judgement->ratio = ratio;
  c.judged.judgement->variation = variation;
  c.judged.judgement->detectable = 0.02;
  c.judged.base.resize(10);
  c.judged.next.resize(10);
  return c;
}

void Add(const GateCase& c, AaTally& tally) {
  GateResult result;
  result.cases.push_back(c);
  tally.Add(result);
}

TEST(AaQualityTest, CountsFirstVerdictsAndConfirmed) {
  AaTally tally;
  Add(Case(Verdict::kSame, 1), tally);
  Add(Case(Verdict::kFaster, 0.9), tally);
  Add(Case(Verdict::kUnclear, 1.01), tally);
  Add(Case(Verdict::kInvalid, 1), tally);
  GateCase confirmed = Case(Verdict::kSlower, 1.02);
  confirmed.fresh_runs = confirmed.confirmed = true;
  Add(confirmed, tally);
  GateCase unconfirmed = Case(Verdict::kUnclear, 1.02);
  unconfirmed.fresh_runs = true;
  Add(unconfirmed, tally);
  const AaCounts counts = tally.total();
  EXPECT_EQ(counts.comparisons, 5);
  EXPECT_EQ(counts.alarms, 2);
  EXPECT_EQ(counts.confirmed, 1);
  EXPECT_EQ(counts.faster, 1);
  EXPECT_EQ(counts.unclear, 1);
  EXPECT_EQ(counts.invalid, 1);
  EXPECT_EQ(counts.PerThousand(), 400);
}

TEST(AaQualityTest, NoisyAboveTwoPerThousand) {
  EXPECT_FALSE(IsNoisy({}));
  EXPECT_FALSE(IsNoisy({.comparisons = 500, .alarms = 1}));
  EXPECT_TRUE(IsNoisy({.comparisons = 499, .alarms = 1}));
  EXPECT_FALSE(IsNoisy({.comparisons = 10000, .alarms = 20}));
  EXPECT_TRUE(IsNoisy({.comparisons = 10000, .alarms = 21}));
}

TEST(AaQualityTest, SpreadByRunsUntilThereAreTenRatios) {
  AaTally tally;
  for (int i = 0; i < 9; ++i) Add(Case(Verdict::kSame, i % 2 == 0 ? 1.003 : 0.997), tally);
  const double error = 0.01 * std::sqrt(std::acos(-1.0) / 2 / 5);
  EXPECT_NEAR(tally.cases().at("a").spread(), error, 1e-12);
  Add(Case(Verdict::kSame, 1.003), tally);
  EXPECT_NEAR(tally.cases().at("a").spread(), 0.003, 1e-12);
  EXPECT_EQ(tally.cases().at("a").detectable_shift(), 0.02);
  EXPECT_EQ(AaCase().spread(), 0);
  EXPECT_EQ(AaCase().detectable_shift(), 0);
}

}  // namespace
}  // namespace draftmark
