#include "conformance/counts/scratch_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "conformance/scratch/unbacked_allocator.h"
#include "src/base/file_system.h"
#include "src/base/json.h"
#include "src/cases/case_id.h"
#include "src/config/config_file.h"
#include "src/config/drafter_config.h"
#include "src/config/model_config.h"
#include "src/scratch/buffer_arena.h"
#include "src/scratch/dflash_layout.h"
#include "src/scratch/dflash_scratch.h"
#include "src/scratch/host_event_source.h"
#include "src/scratch/ledger.h"

namespace draftmark {
namespace {

constexpr SizingArguments kSizing = {
    .max_batch_tokens = 2048, .max_seq_len = 32768, .kv_block_size = 16, .max_batch_size = 32};
constexpr std::uint64_t kCtxWindow = 4096;
constexpr std::uint64_t kBands = 8;  // of version 2; version 1 has one
constexpr std::string_view kCatalogue = "drafter_configs.json";

// BufferArena clears one buffer, for which there is no memory here.
class UnfilledAllocator final : public Allocator {
 public:
  StatusOr<DeviceAddress> Allocate(const AllocationRequest& request) override {
    return inner_.Allocate(request);
  }
  Status Free(DeviceAddress address) override { return inner_.Free(address); }
  Status SetBytes(DeviceAddress, std::uint64_t, std::uint8_t, StreamHandle) override {
    return OkStatus();
  }
  Status GetBytes(DeviceAddress address, std::span<std::byte> out, StreamHandle stream) override {
    return inner_.GetBytes(address, out, stream);
  }
  Status PutBytes(DeviceAddress address, std::span<const std::byte> bytes,
                  StreamHandle stream) override {
    return inner_.PutBytes(address, bytes, stream);
  }

 private:
  UnbackedAllocator inner_;
};

void AddLedger(const Ledger& ledger, Counts& counts) {
  counts["ledger.peak_bytes"] = ledger.Total().peak_bytes;
  counts["ledger.device_bytes"] = ledger.Total(MemoryKind::kDevice).peak_bytes;
  counts["ledger.allocations"] = ledger.Total().total_count;
}

void AddField(std::string_view name, std::uint64_t bytes, Counts& counts) {
  if (bytes > 0) counts[std::string(name)] = bytes;
}

std::string IdOf(const std::string& system, const std::string& config, CaseKeys keys) {
  CaseId id;
  id.room = CaseId::Room::kScratch;
  id.system = system;
  id.subject = config;
  id.keys = std::move(keys);
  return id.ToString();
}

Status CountTarget(const std::string& name, const ModelConfig& config, CountedCases& cases) {
  const std::string id = IdOf("buffer_sizes", name,
                              {{"m", kSizing.max_batch_tokens},
                               {"len", kSizing.max_seq_len},
                               {"block", kSizing.kv_block_size},
                               {"nb", kSizing.max_batch_size}});
  UnfilledAllocator unfilled;
  Ledger ledger;
  LedgerAllocator allocator(unfilled, ledger);
  const StatusOr<BufferArena> arena = BufferArena::Create(config.fields, kSizing, allocator);
  if (!arena.ok()) return arena.status().Annotated(id);
  Counts counts;
  for (const BufferField& field : kBufferFields) {
    AddField(field.name, arena->sizes().*field.bytes, counts);
  }
  AddLedger(ledger, counts);
  cases[{"", id}] = std::move(counts);
  return OkStatus();
}

Status CountDrafter(const std::string& name, const DrafterConfig& config, std::uint64_t version,
                    CountedCases& cases) {
  DflashScratchRequest request;
  request.geometry = DflashGeometry::FromConfig(config);
  request.tensors = DrafterTensorsPresent::FromConfig(config);
  request.version = version;
  request.ctx_window = kCtxWindow;
  request.max_batch = version == 1 ? 1 : kBands;
  const std::string id = IdOf(fmt::format("dflash_v{}", version), name,
                              {{"ctx_window", kCtxWindow}, {"nb", request.max_batch}});
  const StatusOr<DflashScratchLayout> layout = DflashScratchLayout::Create(request);
  if (!layout.ok()) return layout.status().Annotated(id);
  UnbackedAllocator unbacked;
  Ledger ledger;
  LedgerAllocator allocator(unbacked, ledger);
  HostEventSource events;
  const auto memory =
      DflashScratchMemory::Create(*layout, allocator, events, {.allow_short_precompute = true});
  if (!memory.ok()) return memory.status().Annotated(id);
  Counts counts;
  for (const DflashFieldLayout& field : layout->fields()) {
    AddField(field.field->name, field.bytes, counts);
  }
  AddLedger(ledger, counts);
  if (!cases.emplace(CountedCase("", id), std::move(counts)).second) {
    return InvalidArgumentError(fmt::format("{}: two drafters have this name", id));
  }
  return OkStatus();
}

Status CountBoth(const std::string& name, const DrafterConfig& config, CountedCases& cases) {
  DM_RETURN_IF_ERROR(CountDrafter(name, config, 1, cases));
  return CountDrafter(name, config, 2, cases);
}

// "z-lab/Qwen3-8B-DFlash-b16" is z-lab.qwen3-8b-dflash-b16: owners keep names of the catalogue
// apart.
std::string NameOfEntry(std::string_view entry) {
  std::string name(entry.substr(0, entry.find(" (")));
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == ' ') c = '-';
    if (c == '/') c = '.';
  }
  return name;
}

Status CountCatalogue(const Json& json, const std::string& path, CountedCases& cases) {
  for (const std::string& entry : DrafterEntryNames(json)) {
    const StatusOr<DrafterConfig> config = ParseDrafterConfig(json, path, entry);
    if (!config.ok()) continue;  // conformance/configs says which of them may be refused
    DM_RETURN_IF_ERROR(CountBoth(NameOfEntry(entry), *config, cases));
  }
  return OkStatus();
}

Status CountFile(const std::string& name, const std::string& path, CountedCases& cases) {
  DM_ASSIGN_OR_RETURN(const Json json, ReadConfigFile(path));
  if (name == kCatalogue) return CountCatalogue(json, path, cases);
  std::string stem = name.substr(0, name.rfind('.'));
  if (!IsDrafterConfig(json)) {
    DM_ASSIGN_OR_RETURN(const ModelConfig config, ParseModelConfig(json, path));
    return CountTarget(stem, config, cases);
  }
  constexpr std::string_view kPrefix = "drafter_";
  if (stem.starts_with(kPrefix)) stem.erase(0, kPrefix.size());
  DM_ASSIGN_OR_RETURN(const DrafterConfig config, ParseDrafterConfig(json, path));
  return CountBoth(stem, config, cases);
}

}  // namespace

StatusOr<CountedCases> CountScratch(const std::string& configs) {
  DM_ASSIGN_OR_RETURN(const std::vector<std::string> names, RealFileSystem().List(configs));
  CountedCases cases;
  for (const std::string& name : names) {
    // What each config must give is no config.
    if (!name.ends_with(".json") || name == "expected.json") continue;
    DM_RETURN_IF_ERROR(CountFile(name, JoinPath(configs, name), cases));
  }
  if (cases.empty()) return NotFoundError(fmt::format("{}: no configs", configs));
  return cases;
}

}  // namespace draftmark
