#include "src/perf/dashboard/demo_machine.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "src/base/counter_hash.h"

namespace draftmark {
namespace {

constexpr std::int64_t kSecondsPerDay = 86400;

// Streams of random numbers: what is drawn for what.
enum Stream : std::uint64_t { kNoise = 1, kSteps = 2, kCommits = 3, kDrift = 4 };

struct Operation {
  const char* name;
  double flops_per_byte;
};
constexpr std::array<Operation, 10> kOperations = {{{"rms_norm", 0.7},
                                                    {"linear", 16},
                                                    {"paged_attention", 7},
                                                    {"silu_mul", 0.9},
                                                    {"rope", 0.5},
                                                    {"kv_write", 0},
                                                    {"embed", 0},
                                                    {"argmax", 0.25},
                                                    {"residual_add", 0.17},
                                                    {"head_norm", 0.8}}};
constexpr std::array<const char*, 6> kDrafters = {
    "qwen3-4b-dflash-b16",     "qwen3-8b-dflash-b16",     "gpt-oss-20b-dflash",
    "qwen3-coder-30b-dflash2", "llama-3.1-8b-dflash-b10", "qwen3-8b-dspark"};

DemoCase OperationCase(std::size_t index) {
  const Operation& operation = kOperations[index % kOperations.size()];
  const std::size_t size = index / kOperations.size();
  const std::size_t rows = std::size_t{1} << size % 6;
  const std::size_t width = 2048 + 512 * (size / 6);
  const double bytes = operation.flops_per_byte >= 16 ? static_cast<double>(width * width) * 2
                                                      : static_cast<double>(rows * width) * 64;
  return {.id = fmt::format("op/{}/rows={},h={}/bf16", operation.name, rows, width),
          .bytes = bytes,
          .flops = bytes * operation.flops_per_byte,
          .floor_share = 0.3 + 0.6 * UniformAt(SeedOf(operation.name), index)};
}

DemoCase DraftCase(std::size_t index) {
  const char* const name = kDrafters[index % kDrafters.size()];
  const std::size_t context = std::size_t{512} << index / kDrafters.size();
  const double bytes = 1.1e9 * static_cast<double>(1 + index % kDrafters.size()) +
                       static_cast<double>(context) * 4e4;
  return {.id = fmt::format("draft/{}/gamma=16,ctx={},new=8,nb=1", name, context),
          .bytes = bytes,
          .flops = bytes * 14,
          .floor_share = 0.65 + 0.25 * UniformAt(SeedOf(name), index)};
}

}  // namespace

const std::vector<DemoTestbed>& DemoTestbeds() {
  static const std::vector<DemoTestbed> kTestbeds = {
      {.environment = {"sm_90", "NVIDIA H200", "580.159.04", "13.0", "locked 1980 MHz"},
       .newer_driver = "590.48.01",
       .copy_bandwidth = 4.27e12,
       .noise = 0.004},
      {.environment = {"sm_120", "NVIDIA RTX PRO 6000", "580.95.05", "13.0", "default"},
       .copy_bandwidth = 1.62e12,
       .noise = 0.005},
      {.environment = {"sm_80", "NVIDIA A100 80GB", "575.57.08", "12.9", "default"},
       .copy_bandwidth = 1.74e12,
       .noise = 0.012}};
  return kTestbeds;
}

std::vector<DemoCase> DemoCases(std::size_t count) {
  std::vector<DemoCase> cases;
  // One draft for four operations.
  for (std::size_t i = 0; i < count; ++i) {
    cases.push_back(i % 5 == 4 ? DraftCase(i / 5) : OperationCase(i - i / 5));
  }
  return cases;
}

std::int64_t DemoMachine::TimeOf(std::size_t night) const {
  return options_.last_night -
         static_cast<std::int64_t>(options_.nights - 1 - night) * kSecondsPerDay;
}

std::string DemoMachine::CommitOf(std::size_t night) const {
  const std::uint64_t stream = options_.seed * 16 + kCommits;
  // Two nights in three have a new commit, the last one among them.
  const std::size_t change = night - (night > 0 && (options_.nights - night) % 3 == 2 ? 1 : 0);
  return fmt::format("{:016x}{:016x}{:08x}", BitsAt(stream, change),
                     BitsAt(stream, ~std::uint64_t{change}), static_cast<std::uint32_t>(change));
}

Environment DemoMachine::EnvironmentOf(const DemoTestbed& testbed, std::size_t night) const {
  Environment environment = testbed.environment;
  const double part = static_cast<double>(night) / static_cast<double>(options_.nights);
  if (!testbed.newer_driver.empty() && part >= kDemoDriverChange) {
    environment.driver = testbed.newer_driver;
  }
  return environment;
}

double DemoMachine::LevelOf(std::size_t testbed, std::size_t at_case, std::size_t night) const {
  const std::uint64_t stream = options_.seed * 16 + kSteps;
  const std::uint64_t first = (testbed * 100000 + at_case) * 8;
  const double part = static_cast<double>(night) / static_cast<double>(options_.nights);
  double level = 1;
  // A sixth of the cases get slower on some night, a tenth faster.
  if (UniformAt(stream, first) < 1.0 / 6 && part >= 0.1 + 0.8 * UniformAt(stream, first + 1)) {
    level *= 1.02 + 0.04 * UniformAt(stream, first + 2);
  }
  if (UniformAt(stream, first + 3) < 0.1 && part >= 0.1 + 0.8 * UniformAt(stream, first + 4)) {
    level *= 0.98 - 0.06 * UniformAt(stream, first + 5);
  }
  const bool is_news = testbed == 0 && (at_case == 1 || at_case == 4);
  if (is_news && night + 1 == options_.nights) level *= at_case == 1 ? 1.046 : 1.032;
  return level;
}

double DemoMachine::SecondsOf(std::size_t testbed, const DemoCase& demo_case, std::size_t at_case,
                              std::size_t night, std::size_t number) const {
  const DemoTestbed& bed = DemoTestbeds()[testbed];
  const std::uint64_t stream = options_.seed * 16 + kNoise + testbed * 1000003;
  const std::uint64_t index = (at_case * 4096 + night) * 8;
  const double of_night = Normal(stream, index) * bed.noise;
  const double of_run = Normal(stream, index + 1 + number) * bed.noise / 2;
  const double of_machine =
      Normal(options_.seed * 16 + kDrift + testbed * 1000003, night) * bed.noise / 4;
  const double floor = demo_case.bytes / bed.copy_bandwidth;
  return floor / demo_case.floor_share * LevelOf(testbed, at_case, night) *
         (1 + of_night + of_run + of_machine);
}

double DemoMachine::Normal(std::uint64_t stream, std::uint64_t index) const {
  // Twelve uniform numbers less six: no tails beyond six deviations, and no libm in it.
  double sum = -6;
  for (std::uint64_t i = 0; i < 12; ++i) sum += UniformAt(stream, index * 12 + i);
  return sum;
}

}  // namespace draftmark
