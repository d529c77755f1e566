#include "src/perf/dashboard/sample_dashboard.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "src/base/counter_hash.h"

namespace draftmark {
namespace {

constexpr std::int64_t kFirstNight = 1788055200;  // 2026-08-30 02:00 UTC
constexpr std::int64_t kDay = 86400;
constexpr std::size_t kNights = 40;
constexpr std::size_t kStepNight = 25;
constexpr std::size_t kSlowNight = 38;

class Maker {
 public:
  explicit Maker(std::string_view spice) : spice_(spice) {}

  DashboardData Make() {
    data_.title = Text("Draftmark");
    data_.source = Text("sample");
    data_.now = kFirstNight + kNights * kDay;
    data_.testbeds = {{.architecture = Text("sm_90"),
                       .gpu = Text("NVIDIA H200"),
                       .clocks_policy = Text("locked"),
                       .copy_bandwidth = 4.1e12,
                       .peak_flops = 9.9e14},
                      {.architecture = Text("sm_120"), .gpu = Text("RTX")}};
    for (std::size_t night = 0; night < kNights; ++night) AddRuns(night);
    AddSeries("op/rms_norm/rows=16,h=4096/bf16", 0, 2.4e-6, 0.03, 0.62);
    AddSeries("op/linear/m=16,n=4096,k=4096/bf16", 0, 1.13e-5, 0, 0.81);
    AddSeries("draft/qwen3-8b/gamma=16,ctx=2048,new=8,nb=1", 0, 1.31e-3, -0.05, 0.74);
    AddSeries("op/rms_norm/rows=16,h=4096/bf16", 1, 4.4e-6, 0, 0.5);
    AddVerdicts();
    data_.releases = {{kFirstNight + 10 * kDay, Text("v1.0"), Text("0a1b2c3d4e5f60718293")}};
    AddCounts();
    AddConformance();
    data_.aa = {{.testbed = 0,
                 .comparisons = 3000,
                 .false_alarms = 1,
                 .advisory = false,
                 .cases = {{Text("op/rms_norm/rows=16,h=4096/bf16"), 1000, 1, 0.003, 0.012}}},
                {.testbed = 1, .comparisons = 200, .false_alarms = 3, .advisory = true}};
    return std::move(data_);
  }

 private:
  std::string Text(std::string_view text) const { return std::string(text) + spice_; }

  void AddRuns(std::size_t night) {
    for (std::size_t testbed = 0; testbed < 2; ++testbed) {
      data_.runs.push_back({.id = fmt::format("{:016x}", BitsAt(testbed, night)),
                            .testbed = testbed,
                            .time = kFirstNight + static_cast<std::int64_t>(night) * kDay +
                                    static_cast<std::int64_t>(testbed) * 600,
                            .commit = Text(fmt::format("{:016x}{:08x}", BitsAt(7, night), night)),
                            .driver = Text(night < 30 ? "580.159.04" : "590.12"),
                            .cuda = Text("13.0"),
                            .clocks = Text("SM 1980 MHz"),
                            .command = Text("draftmark perf nightly"),
                            .note = night == 33 ? Text("another process on the GPU") : ""});
    }
  }

  void AddSeries(std::string_view id, std::size_t testbed, double level, double step,
                 double share) {
    DashboardSeries series{.case_id = Text(id), .testbed = testbed};
    series.reproduce = "bazel run //benchmarks:operations_benchmark -- --case=" + Text(id);
    series.floor_share = share;
    series.bytes_per_second = share * 4.1e12;
    series.flops_per_second = share * 3e13;
    const std::uint64_t seed = SeedOf(id);
    for (std::size_t night = 0; night < kNights; ++night) {
      if (night == 33 || (testbed == 1 && night < 20)) continue;  // nothing measured
      double noise = (UniformAt(seed, night) - 0.5) * 0.006;
      // One slow night, above the band of 1.2 % and below twice that: no change of level.
      if (id.starts_with("op/linear") && night == kSlowNight) noise += 0.02;
      const double now = night >= kStepNight ? level * (1 + step) : level;
      series.points.push_back({night * 2 + testbed, now * (1 + noise)});
    }
    data_.series.push_back(std::move(series));
  }

  void AddVerdicts() {
    DashboardVerdict verdict{.case_id = Text("op/rms_norm/rows=16,h=4096/bf16"),
                             .time = kFirstNight + 39 * kDay,
                             .verdict = Verdict::kSlower,
                             .ratio = 1.031,
                             .shift = Interval{1.022, 1.04},
                             .p = 1e-5,
                             .detectable = 0.017,
                             .source = Text("gate"),
                             .base_commit = Text("1111111111111111"),
                             .commit = Text("2222222222222222"),
                             .driver = Text("590.12"),
                             .clocks = Text("SM 1980 MHz"),
                             .reproduce = Text("draftmark perf compare aaaa bbbb")};
    data_.verdicts.push_back(verdict);
    verdict.case_id = Text("op/linear/m=16,n=4096,k=4096/bf16");
    verdict.verdict = Verdict::kSame;
    verdict.ratio = 1.001;
    verdict.shift = Interval{0.998, 1.004};
    data_.verdicts.push_back(verdict);
    verdict.case_id = Text("draft/qwen3-8b/gamma=16,ctx=2048,new=8,nb=1");
    verdict.verdict = Verdict::kInvalid;
    verdict.ratio = verdict.p = verdict.detectable = {};
    verdict.shift = {};
    verdict.reason = Text("the benchmark failed: out of memory");
    verdict.time -= kDay;
    data_.verdicts.push_back(verdict);
  }

  void AddCounts() {
    const std::string config = Text("scratch/dflash_v2/qwen3-8b/ctx_window=4096,nb=8");
    data_.counts = {
        {"", config, Text("mlp_up"), 101056512, 101056512, true, Text("2222222222222222")},
        {"", config, Text("q_buf"), 33685505, 33685504, true, ""},
        {"", config, Text("slot_mapping_dev"), 32768, 65536, true, ""},
        {"", config, Text("draft_tokens_dev"), 0, {}, true, ""},
        {Text("sm_90"), Text("draft/qwen3-8b"), Text("launches"), 214, 214, false, ""}};
  }

  void AddConformance() {
    data_.conformance = {
        {Text("op/rms_norm"), Text("sm_90"), CellState::kPassed, 10, 0.499, ""},
        {Text("op/linear"), Text("sm_90"), CellState::kWaived, 41, 0.93, Text("known, until 2027")},
        {Text("op/linear"), Text("sm_120"), CellState::kFailed, 41, 1.7, Text("linear/m=1")}};
    data_.suites = {{Text("kernels/gpu_test"), Text("sm_90"), true, 2, 310, 1, Text("Norm.Small"),
                     Text("2222222222222222"), kFirstNight},
                    {Text("soak"), Text("sm_90"), false, 0, 12, 0, "", "", kFirstNight}};
  }

  std::string spice_;
  DashboardData data_;
};

}  // namespace

DashboardData LargeDashboard(std::size_t cases, std::size_t nights, std::size_t testbeds) {
  DashboardData data{.source = "large", .now = kFirstNight};
  for (std::size_t testbed = 0; testbed < testbeds; ++testbed) {
    data.testbeds.push_back({.architecture = fmt::format("sm_{}", 80 + 10 * testbed)});
    for (std::size_t night = 0; night < nights; ++night) {
      data.runs.push_back({.id = fmt::format("{:016x}", BitsAt(testbed, night)),
                           .testbed = testbed,
                           .time = kFirstNight + static_cast<std::int64_t>(night) * kDay,
                           .commit = fmt::format("{:016x}{:024x}", BitsAt(7, night), night),
                           .driver = "580.159.04"});
    }
  }
  for (std::size_t i = 0; i < cases * testbeds; ++i) {
    const std::size_t testbed = i / cases;
    DashboardSeries series{
        .case_id = fmt::format("op/operation_{}/rows={},h=4096,w=11008/bf16", i % 20, i % cases),
        .testbed = testbed,
        .reproduce = fmt::format("operations_benchmark --case={}", i % cases)};
    series.floor_share = 0.3 + 0.6 * UniformAt(11, i);
    for (std::size_t night = 0; night < nights; ++night) {
      const double step = i % 4 == 0 && night > nights / 2 ? 1.04 : 1;
      const double noise = 1 + 0.02 * (UniformAt(12 + i, night) - 0.5);
      series.points.push_back(
          {testbed * nights + night, 1e-6 * step * noise * (1 + 0.01 * static_cast<double>(i))});
    }
    data.verdicts.push_back({.case_id = series.case_id,
                             .testbed = testbed,
                             .verdict = Verdict::kSame,
                             .ratio = 1.001,
                             .shift = Interval{0.99, 1.01},
                             .commit = data.runs.back().commit,
                             .reproduce = series.reproduce});
    data.series.push_back(std::move(series));
  }
  return data;
}

DashboardData SampleDashboard(std::string_view spice) { return Maker(spice).Make(); }

}  // namespace draftmark
