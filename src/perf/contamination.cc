#include "src/perf/contamination.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/perf/benchmark_counters.h"
#include "src/perf/run_value.h"

namespace draftmark {
namespace {

struct Reason {
  std::uint64_t bit;
  const char* text;
};
constexpr Reason kReasons[] = {
    {kReasonGpuIdle, "idle"},
    {kReasonApplicationClocks, "application clocks"},
    {0x4, "software power cap"},
    {0x8, "hardware slowdown"},
    {0x10, "sync boost"},
    {0x20, "software thermal slowdown"},
    {0x40, "hardware thermal slowdown"},
    {0x80, "hardware power brake"},
    {0x100, "display clocks"},
};

bool Moved(double clock, double reference) {
  return std::abs(clock - reference) > kMostClockShift * reference;
}

bool Moved(const std::optional<double>& before, const std::optional<double>& after) {
  return before && after && Moved(*after, *before);
}

bool Contains(const std::vector<std::uint64_t>& ids, std::uint64_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

std::string ThrottleText(std::uint64_t reasons) {
  std::string text;
  const auto add = [&](const std::string& part) {
    if (!text.empty()) text += ", ";
    text += part;
  };
  for (const Reason& reason : kReasons) {
    if ((reasons & reason.bit) != 0) add(reason.text);
    reasons &= ~reason.bit;
  }
  if (reasons != 0) add(fmt::format("{:#x}", reasons));
  return text.empty() ? "none" : text;
}

ProcessWatch::ProcessWatch(const GpuState& before, const GpuState& after, std::uint64_t own_id) {
  Add(before, after, own_id);
}

void ProcessWatch::Add(const GpuState& before, const GpuState& after, std::uint64_t id) {
  if (!after.processes) return;
  const std::vector<std::uint64_t>& now = *after.processes;
  if (Contains(now, id)) {
    own_.push_back(id);
    return;
  }
  if (!before.processes) return;
  std::vector<std::uint64_t> fresh;
  for (const std::uint64_t listed : now) {
    if (!Contains(*before.processes, listed)) fresh.push_back(listed);
  }
  // Of two newcomers either may be the other's.
  if (fresh.size() == 1) own_.push_back(fresh.front());
}

std::optional<std::size_t> ProcessWatch::Others(const GpuState& state) const {
  if (!state.processes) return std::nullopt;
  return static_cast<std::size_t>(
      std::count_if(state.processes->begin(), state.processes->end(),
                    [&](std::uint64_t id) { return !Contains(own_, id); }));
}

BlockFacts CompareStates(const GpuState& before, const GpuState& after, const ProcessWatch& watch) {
  BlockFacts block;
  for (const GpuState* const state : {&before, &after}) {
    const std::optional<std::size_t> others = watch.Others(*state);
    if (others) block.other_processes = std::max(block.other_processes.value_or(0), *others);
  }
  block.memory_clock_moved = Moved(before.memory_clock_hz, after.memory_clock_hz);
  block.ecc_grew = before.ecc_errors && after.ecc_errors && *after.ecc_errors != *before.ecc_errors;
  return block;
}

std::vector<SampleVoid> FindVoid(std::span<const SampleFacts> samples, const BlockFacts& block) {
  std::vector<double> clocks;
  for (const SampleFacts& sample : samples) {
    if (sample.clock_hz) clocks.push_back(*sample.clock_hz);
  }
  const double reference = clocks.empty() ? 0 : Median(std::move(clocks));
  std::vector<SampleVoid> voids;
  for (const SampleFacts& sample : samples) {
    voids.push_back({.processes = block.other_processes.value_or(0) > 0,
                     .throttle = (sample.throttle_reasons.value_or(0) & ~kHarmlessReasons) != 0,
                     .clock = block.memory_clock_moved ||
                              (sample.clock_hz && Moved(*sample.clock_hz, reference)),
                     .ecc = block.ecc_grew});
  }
  return voids;
}

bool VoidCounts::TooMany() const {
  return voided >= samples ||
         static_cast<double>(voided) > kMostVoided * static_cast<double>(samples);
}

std::string VoidCounts::ToString() const {
  std::string reasons;
  const auto add = [&](const char* name, std::size_t count) {
    if (count > 0) reasons += fmt::format("{}{} {}", reasons.empty() ? " (" : ", ", name, count);
  };
  add("other processes", processes);
  add("throttle", throttle);
  add("clock", clock);
  add("ECC", ecc);
  return fmt::format("{} of {} samples are void{}", voided, samples,
                     reasons.empty() ? reasons : reasons + ")");
}

VoidCounts CountVoid(std::span<const SampleVoid> voids) {
  VoidCounts counts;
  for (const SampleVoid& found : voids) {
    ++counts.samples;
    counts.voided += found.any() ? 1 : 0;
    counts.processes += found.processes ? 1 : 0;
    counts.throttle += found.throttle ? 1 : 0;
    counts.clock += found.clock ? 1 : 0;
    counts.ecc += found.ecc ? 1 : 0;
  }
  return counts;
}

}  // namespace draftmark
