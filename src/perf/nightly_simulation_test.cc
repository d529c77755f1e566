// The figures of spec/statistics.md on nights, by simulation under the noise models B to F, in some
// 20 s on two cores. Seeded, so it passes always or never on a machine.
//
// The page's power of the alarm is of run medians; what draftmark takes is run values
// (run_value.h), which must be at least as good: where a kernel has two modes (E), medians see 35
// in 1,000 and run values nearly all. No sentinel is simulated, since the page has no model of a
// drift.
#include <cstdint>
#include <iostream>
#include <map>
#include <vector>

#include "gtest/gtest.h"
#include "src/base/counter_hash.h"
#include "src/base/parallel.h"
#include "src/perf/change_points.h"
#include "src/perf/nightly_alarm.h"
#include "src/perf/noise_model.h"
#include "src/perf/run_value.h"

namespace draftmark {
namespace {

enum class Of { kMedians, kValues };

double Night(NoiseSource& source, const NoiseModel& model, double level, Of of) {
  std::vector<double> runs;
  for (std::size_t i = 0; i < kNightRuns; ++i) {
    const RunValue run = RunValueOf(source.Run(model, level));
    runs.push_back(of == Of::kMedians ? run.median : run.value);
  }
  return LevelOfNight(runs, {});
}

std::vector<double> Nights(NoiseSource& source, const NoiseModel& model, std::size_t count, Of of) {
  std::vector<double> nights;
  for (std::size_t i = 0; i < count; ++i) nights.push_back(Night(source, model, 1, of));
  return nights;
}

// Sums count(source) over `trials`, whatever the number of threads.
template <typename F>
std::size_t Count(const NoiseModel& model, std::size_t trials, std::uint64_t salt, const F& count) {
  constexpr std::size_t kGrain = 50;
  std::vector<std::size_t> pieces(ParallelPieces(trials, kGrain));
  ParallelFor(trials, kGrain, [&](std::size_t piece, std::size_t begin, std::size_t end) {
    for (std::size_t trial = begin; trial < end; ++trial) {
      NoiseSource source(BitsAt(salt * 256 + static_cast<std::uint64_t>(model.name), trial));
      pieces[piece] += count(source);
    }
  });
  std::size_t sum = 0;
  for (const std::size_t piece : pieces) sum += piece;
  std::cout << model.name << ": " << sum << " of " << trials << "\n";
  return sum;
}

// An alarm at `level` that a re-run of the same night confirms.
bool Alarms(NoiseSource& source, const NoiseModel& model, double level, Of of) {
  const std::vector<double> last = Nights(source, model, kNightsBack, of);
  return JudgeNight(last, Night(source, model, level, of)).verdict == Verdict::kSlower &&
         JudgeNight(last, Night(source, model, level, of)).verdict == Verdict::kSlower;
}

TEST(NightlySimulationTest, NoFalseAlarmIn20000) {
  for (const NoiseModel& model : kNoiseModels) {
    EXPECT_EQ(Count(model, 4000, 1,
                    [&](NoiseSource& source) { return Alarms(source, model, 1, Of::kValues); }),
              0u)
        << model.name;
  }
}

// Per 1,000: the page's figures, within four standard deviations of two such simulations.
TEST(NightlySimulationTest, ThreePercentByMediansAsThePageHasIt) {
  const std::map<char, double> page = {{'B', 1000}, {'C', 1000}, {'D', 797}, {'E', 35}, {'F', 956}};
  for (const NoiseModel& model : kNoiseModels) {
    const std::size_t seen = Count(model, 1000, 2, [&](NoiseSource& source) {
      return Alarms(source, model, 1.03, Of::kMedians);
    });
    EXPECT_NEAR(static_cast<double>(seen), page.at(model.name), model.name == 'D' ? 60 : 35)
        << model.name;
  }
}

TEST(NightlySimulationTest, ThreePercentByRunValues) {
  const std::map<char, std::size_t> least = {
      {'B', 1000}, {'C', 998}, {'D', 740}, {'E', 980}, {'F', 920}};
  for (const NoiseModel& model : kNoiseModels) {
    EXPECT_GE(Count(model, 1000, 3,
                    [&](NoiseSource& source) { return Alarms(source, model, 1.03, Of::kValues); }),
              least.at(model.name))
        << model.name;
  }
}

// 4,000 series of 60 nights without a change: none is seen in B, C, D and F, and in E at most the
// page's 2.5 per 1,000 (6 in 800 where 2 are expected, 1.4 standard deviations each).
TEST(NightlySimulationTest, NoFalseChangePoint) {
  for (const NoiseModel& model : kNoiseModels) {
    const std::size_t seen = Count(model, 800, 4, [&](NoiseSource& source) {
      return !FindChangePoints(Nights(source, model, 60, Of::kMedians)).empty();
    });
    EXPECT_LE(seen, model.name == 'E' ? 6u : 0u) << model.name;
  }
}

// 2 % slower from night 60 on: told by night 67, and not as a change of long ago.
TEST(NightlySimulationTest, AStepOfTwoPercentIsFoundWithinSevenNights) {
  for (const NoiseModel& model : kNoiseModels) {
    const auto finds = [&](Of of) {
      return Count(model, 500, 5, [&](NoiseSource& source) {
        std::vector<double> nights = Nights(source, model, 60, of);
        for (int i = 0; i < 7; ++i) nights.push_back(Night(source, model, 1.02, of));
        const std::vector<LevelChange> changes = FindChangePoints(nights);
        return changes.size() == 1 && changes[0].first >= 57 && changes[0].step > 0;
      });
    };
    // 96 % of 500 less two standard deviations; of medians, E has 12 %.
    EXPECT_GE(finds(Of::kValues), 472u) << model.name;
    if (model.name == 'E') {
      EXPECT_LE(finds(Of::kMedians), 90u);
    } else {
      EXPECT_GE(finds(Of::kMedians), 472u) << model.name;
    }
  }
}

}  // namespace
}  // namespace draftmark
