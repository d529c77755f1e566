#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "src/cases/generated_data.h"
#include "src/config/drafter_entry.h"
#include "src/tensor/tensor_view.h"
#include "tools/commands/doctor/checks.h"

namespace draftmark {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

// One configuration with its tests is about 1.3 GB; a developer has three (plain, CUDA, one
// sanitizer) and the GPU bundle.
constexpr std::uint64_t kDiskForBuilds = std::uint64_t{6} << 30;

// A generated checkpoint is held twice while it is put together; the rest is logits and scratch.
// Measured with `draftmark draft`, peak to weights: 2.2 with Qwen3-4B-DFlash (5.8 GB), 2.6 with one
// of 0.8 G parameters, embedding and LM head included (4.1 GB).
constexpr double kPeakPerWeightByte = 2.7;

Finding CheckGolden(const std::optional<std::string>& catalogue) {
  Finding finding{.name = "golden",
                  .part = MachinePart::kCpu,
                  .found = catalogue.value_or("no golden/configs/drafter_configs.json around here"),
                  .needed_for = "draftmark verify without arguments, golden and draft",
                  .how_to_get = "run in a checkout, or in an unpacked bundle"};
  if (!catalogue) finding.state = FindingState::kMissing;
  return finding;
}

// The folder itself, or the parent that would have to take it.
std::string NearestThere(Machine& machine, std::string path) {
  while (path.size() > 1 && machine.Glob(path).empty()) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    path.resize(std::max<std::size_t>(slash, 1));
  }
  return path;
}

// --disk_cache of the last line that has one, in the files that Bazel reads.
std::optional<std::string> DiskCache(Machine& machine, const std::string& root) {
  constexpr std::string_view kOption = "--disk_cache=";
  std::optional<std::string> cache;
  for (const char* const file : {"/.bazelrc", "/user.bazelrc"}) {
    std::istringstream lines(machine.Read(root + file).ok() ? *machine.Read(root + file) : "");
    for (std::string line; std::getline(lines, line);) {
      const std::size_t at = line.find(kOption);
      if (at == std::string::npos || line.find('#') < at) continue;
      const std::string rest = line.substr(at + kOption.size());
      cache = rest.substr(0, rest.find(' '));
    }
  }
  return cache;
}

Finding CheckFolder(Machine& machine, const std::string& name, const std::string& folder,
                    const std::string& needed_for) {
  const std::string there = NearestThere(machine, folder);
  Finding finding{.name = name,
                  .part = MachinePart::kCpu,
                  .found = folder + " can be written",
                  .needed_for = needed_for,
                  .how_to_get = "give this user the right to write in " + there};
  if (!machine.CanReadAndWrite(there)) {
    finding.state = FindingState::kMissing;
    finding.found = fmt::format("{}: {} cannot be written", folder, there);
  }
  return finding;
}

Finding CheckDisk(Machine& machine, const std::string& folder) {
  const std::string there = NearestThere(machine, folder);
  Finding finding{
      .name = "disk",
      .part = MachinePart::kCpu,
      .found = {},
      .needed_for = "Bazel's output",
      .how_to_get = fmt::format("make {:.0f} GiB of room there", kDiskForBuilds / kGiB)};
  const StatusOr<std::uint64_t> free = machine.FreeDisk(there);
  if (!free.ok()) {
    finding.state = FindingState::kMissing;
    finding.found = free.status().message();
    return finding;
  }
  finding.found = fmt::format("{:.1f} GiB free in {}", static_cast<double>(*free) / kGiB, there);
  if (*free < kDiskForBuilds) finding.state = FindingState::kMissing;
  return finding;
}

// MemAvailable in bytes, or nothing.
std::optional<std::uint64_t> AvailableMemory(Machine& machine) {
  const StatusOr<std::string> text = machine.Read("/proc/meminfo");
  if (!text.ok()) return std::nullopt;
  std::istringstream lines(*text);
  std::string key;
  std::uint64_t kibibytes = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    if (words >> key >> kibibytes && key == "MemAvailable:") return kibibytes * 1024;
  }
  return std::nullopt;
}

struct FullSize {
  std::string name;
  double peak_bytes = 0;
};

// The drafters that `draftmark draft` runs, smallest first.
std::vector<FullSize> FullSizeDrafts(const Json& json, const std::string& source) {
  std::vector<FullSize> drafts;
  for (const std::string& name : DrafterEntryNames(json)) {
    const StatusOr<DrafterEntry> entry = FindRunnableEntry(json, source, name);
    if (!entry.ok()) continue;
    double weight_bytes = 0;
    for (const GeneratedTensor& tensor : GeneratedTensors(entry->config, {})) {
      double elements = 1;
      for (const std::uint64_t extent : tensor.shape) elements *= static_cast<double>(extent);
      weight_bytes += 2 * elements;
    }
    drafts.push_back({name, kPeakPerWeightByte * weight_bytes});
  }
  std::sort(drafts.begin(), drafts.end(),
            [](const FullSize& a, const FullSize& b) { return a.peak_bytes < b.peak_bytes; });
  return drafts;
}

Finding CheckMemory(Machine& machine, const std::string& catalogue) {
  Finding finding{.name = "memory",
                  .found = {},
                  .needed_for = "draftmark draft of published drafters at full size on the CPU",
                  .how_to_get = "more memory, or a GPU: --backend cuda makes the weights there"};
  const std::optional<std::uint64_t> available = AvailableMemory(machine);
  const StatusOr<std::string> text = machine.Read(catalogue);
  StatusOr<Json> json = text.ok() ? ParseJson(*text, catalogue) : StatusOr<Json>(text.status());
  if (!available || !json.ok()) {
    finding.state = FindingState::kMissing;
    finding.found =
        !available ? "/proc/meminfo does not say what is available" : json.status().message();
    return finding;
  }
  const std::vector<FullSize> drafts = FullSizeDrafts(*json, catalogue);
  const auto fits = [&](const FullSize& draft) {
    return draft.peak_bytes <= static_cast<double>(*available);
  };
  const auto fitting = std::count_if(drafts.begin(), drafts.end(), fits);
  finding.found = fmt::format("{:.1f} GiB available, {} of {} drafts fit",
                              static_cast<double>(*available) / kGiB, fitting, drafts.size());
  if (static_cast<std::size_t>(fitting) < drafts.size()) {
    finding.state = FindingState::kMissing;
    finding.found += fmt::format(", the largest ({}) needs {:.1f} GiB", drafts.back().name,
                                 drafts.back().peak_bytes / kGiB);
  }
  return finding;
}

}  // namespace

std::vector<Finding> CheckResources(Machine& machine) {
  const std::optional<std::string> catalogue = machine.Catalogue();
  std::vector<Finding> findings = {CheckGolden(catalogue)};
  if (const std::optional<std::string> root = machine.Checkout()) {
    const std::string output = machine.Variable("HOME").value_or("") + "/.cache/bazel";
    findings.push_back(CheckFolder(machine, "output-folder", output, "Bazel's output"));
    if (const std::optional<std::string> cache = DiskCache(machine, *root)) {
      findings.push_back(
          CheckFolder(machine, "disk-cache", *cache, "the --disk_cache of .bazelrc files"));
    }
    findings.push_back(CheckDisk(machine, output));
  }
  if (catalogue) findings.push_back(CheckMemory(machine, *catalogue));
  return findings;
}

}  // namespace draftmark
