#include "src/perf/mann_whitney.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "src/base/counter_hash.h"

namespace draftmark {
namespace {

// U of the values in `mask`, by its definition: pairs won, ties half.
double U(const std::vector<double>& all, std::uint32_t mask) {
  double u = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((mask >> i & 1) == 0) continue;
    for (std::size_t j = 0; j < all.size(); ++j) {
      if ((mask >> j & 1) != 0) continue;
      u += all[i] > all[j] ? 1.0 : all[i] == all[j] ? 0.5 : 0.0;
    }
  }
  return u;
}

// Every split of the values into sides of n and the rest. Halves are exact, so >= is.
double Enumerated(const std::vector<double>& all, std::size_t n) {
  const std::size_t m = all.size() - n;
  const double mean = static_cast<double>(n * m) / 2;
  const double seen = std::abs(U(all, (1u << n) - 1) - mean);
  double extreme = 0;
  double splits = 0;
  for (std::uint32_t mask = 0; mask < 1u << all.size(); ++mask) {
    if (std::popcount(mask) != static_cast<int>(n)) continue;
    ++splits;
    if (std::abs(U(all, mask) - mean) >= seen) ++extreme;
  }
  return extreme / splits;
}

double P(const std::vector<double>& all, std::size_t n) {
  const std::span<const double> span(all);
  return MannWhitneyP(span.first(n), span.subspan(n));
}

// All sizes up to 8 + 8; few levels make many ties, 0 levels means none.
TEST(MannWhitneyTest, EqualsFullEnumeration) {
  std::uint64_t index = 0;
  for (std::size_t n = 1; n <= 8; ++n) {
    for (std::size_t m = 1; m <= 8; ++m) {
      for (const int levels : {0, 1, 2, 3, 5, 9}) {
        // The largest have 12,870 splits; fewer draws of them keep this test short.
        for (int draw = 0; draw < (n + m <= 12 ? 6 : 3); ++draw) {
          std::vector<double> all;
          for (std::size_t i = 0; i < n + m; ++i) {
            double value = UniformAt(SeedOf("mann_whitney_test"), index++);
            if (i >= n && draw % 3 == 1) value += 0.5;  // some with a shift, for small p
            all.push_back(levels == 0 ? value : std::floor(value * levels));
          }
          EXPECT_NEAR(P(all, n), Enumerated(all, n), 1e-12)
              << n << "+" << m << ", levels " << levels << ", draw " << draw;
        }
      }
    }
  }
}

TEST(MannWhitneyTest, KnownValues) {
  std::vector<double> apart;
  apart.reserve(20);
  for (int i = 0; i < 20; ++i) apart.push_back(i);
  EXPECT_NEAR(P(apart, 10), 2.0 / 184756, 1e-18);
  EXPECT_EQ(P({1, 1, 1, 1}, 2), 1);
  EXPECT_NEAR(P({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 6), 2.0 / 924, 1e-16);
  EXPECT_EQ(P({1, 2}, 1), 1);
}

TEST(MannWhitneyTest, SidesAndSignsMayChange) {
  const std::vector<double> a = {1, 3, 3, 8, 9};
  const std::vector<double> b = {2, 3, 10};
  const std::vector<double> minus_a = {-1, -3, -3, -8, -9};
  const std::vector<double> minus_b = {-2, -3, -10};
  EXPECT_EQ(MannWhitneyP(a, b), MannWhitneyP(b, a));
  EXPECT_EQ(MannWhitneyP(a, b), MannWhitneyP(minus_a, minus_b));
}

TEST(MannWhitneyTest, TheMostRuns) {
  std::vector<double> all;
  for (std::size_t i = 0; i < 2 * kMostRuns; ++i) {
    all.push_back(std::floor(UniformAt(7, i) * 150));  // ties, so the widest table
  }
  const double p = P(all, kMostRuns);
  EXPECT_GT(p, 1e-4);
  EXPECT_LE(p, 1);
}

}  // namespace
}  // namespace draftmark
