// Runs the worked examples, and the properties that the spec states besides numbers.
#include <fmt/format.h>

#include <string_view>

#include "conformance/scratch/unbacked_allocator.h"
#include "conformance/scratch/worked_examples.h"
#include "src/scratch/dflash_borrows.h"
#include "src/scratch/dflash_scratch.h"
#include "src/scratch/host_event_source.h"
#include "src/scratch/ledger.h"

namespace draftmark {
namespace {

ScratchCheck Passed(std::string id) { return {std::move(id), true, ""}; }
ScratchCheck Failed(std::string id, std::string message) {
  return {std::move(id), false, std::move(message)};
}
ScratchCheck Equal(std::string id, std::uint64_t expected, std::uint64_t found) {
  if (expected == found) return Passed(std::move(id));
  return Failed(std::move(id), fmt::format("expected {} bytes, found {}", expected, found));
}

const DflashFieldLayout* Find(const DflashScratchLayout& layout, std::string_view name) {
  for (const DflashFieldLayout& field : layout.fields()) {
    if (field.field->name == name) return &field;
  }
  return nullptr;
}

// The bytes behind an example's key: "device total", a field, or a sum "a + b".
std::uint64_t BytesOf(const DflashScratchLayout& layout, std::string_view key) {
  if (key == "device total") return layout.device_bytes();
  std::uint64_t sum = 0;
  while (!key.empty()) {
    const std::size_t plus = key.find(" + ");
    const DflashFieldLayout* field = Find(layout, key.substr(0, plus));
    sum += field == nullptr ? 0 : field->bytes;
    key = plus == std::string_view::npos ? std::string_view() : key.substr(plus + 3);
  }
  return sum;
}

// 0 bytes must be null and null must be 0 bytes.
ScratchCheck NullsAgree(const std::string& id, const DflashScratchLayout& layout) {
  for (const DflashFieldLayout& field : layout.fields()) {
    if (field.field->memory != DflashMemory::kEvent && field.is_null != (field.bytes == 0)) {
      return Failed(id + "/nulls", fmt::format("{}: {} bytes, but {}", field.field->name,
                                               field.bytes, field.is_null ? "null" : "not null"));
    }
  }
  return Passed(id + "/nulls");
}

// What is allocated is what the layout says, field by field, and nothing stays behind.
ScratchCheck AllocationAgrees(const std::string& id, const DflashScratchLayout& layout) {
  const std::string name = id + "/ledger";
  UnbackedAllocator unbacked;
  Ledger ledger;
  LedgerAllocator allocator(unbacked, ledger);
  HostEventSource events;
  {
    const auto memory = DflashScratchMemory::Create(layout, allocator, events);
    if (!memory.ok()) return Failed(name, memory.status().ToString());
    for (const DflashFieldLayout& field : layout.fields()) {
      const std::uint64_t live = ledger.Of(field.field->name).live_bytes;
      if (live != field.bytes) {
        return Failed(name, fmt::format("{}: expected {} bytes, found {} allocated",
                                        field.field->name, field.bytes, live));
      }
    }
    const std::uint64_t device = ledger.Total(MemoryKind::kDevice).live_bytes;
    if (device != layout.device_bytes()) return Equal(name, layout.device_bytes(), device);
  }
  return Equal(name, 0, ledger.Total().live_bytes);
}

// Section 3, last row: what may differ between version 2 of one band and version 1.
ScratchCheck OneBandEqualsVersionOne(const WorkedExample& example, const LayoutFunction& create) {
  const std::string id = example.id + "/v2 of one band equals v1";
  DflashScratchRequest first = example.request;
  first.version = 1;
  first.max_batch = 1;
  first.layout = DflashLayoutName::kDoc;
  DflashScratchRequest second = first;
  second.version = 2;
  second.layout = DflashLayoutName::kNormative;
  const StatusOr<DflashScratchLayout> v1 = create(first);
  const StatusOr<DflashScratchLayout> v2 = create(second);
  if (!v1.ok()) return Failed(id, v1.status().ToString());
  if (!v2.ok()) return Failed(id, v2.status().ToString());
  const std::uint64_t gamma = v2->gamma();
  const std::uint64_t vocab = first.geometry.vocab_size;
  for (const DflashFieldLayout& field : v2->fields()) {
    const std::string_view name = field.field->name;
    const DflashFieldLayout* const old = Find(*v1, name);
    std::uint64_t expected = old == nullptr ? 0 : old->bytes;
    if (name == "slot_mapping_dev") expected *= 2;
    if (name == "option_b_indirect_args_dev") expected = 12;
    if (name == "logits") expected = gamma * vocab * 2;
    if (name == "precompute_in") {
      expected = 256 * first.geometry.target_taps * first.geometry.target_hidden_size * 2;
    }
    if (field.bytes != expected) {
      return Failed(id,
                    fmt::format("{}: expected {} bytes, found {}", name, expected, field.bytes));
    }
  }
  return Passed(id);
}

// The slot buffer holds the block rows of every band, or the layout warns and the check refuses.
ScratchCheck SlotsHoldEveryBand(const std::string& id, const DflashScratchLayout& layout) {
  const std::string name = id + "/block slots";
  const bool fits = layout.max_batch() * layout.gamma() <= layout.slot_entries();
  const bool accepted = CheckBlock(layout, layout.max_batch(), layout.gamma()).ok();
  const bool warned = !layout.warnings().empty();
  if (layout.layout() == DflashLayoutName::kNormative && !fits) {
    return Failed(name, fmt::format("expected {} entries, found {}",
                                    layout.max_batch() * layout.gamma(), layout.slot_entries()));
  }
  if (accepted != fits || warned == fits) {
    return Failed(name,
                  fmt::format("{} entries: {}, {}", layout.slot_entries(),
                              accepted ? "accepted" : "refused", warned ? "warned" : "not warned"));
  }
  return Passed(name);
}

}  // namespace

std::vector<ScratchCheck> RunScratchChecks(const LayoutFunction& create) {
  std::vector<ScratchCheck> checks;
  for (const WorkedExample& example : WorkedExamples()) {
    const StatusOr<DflashScratchLayout> layout = create(example.request);
    if (!layout.ok()) {
      checks.push_back(Failed(example.id, layout.status().ToString()));
      continue;
    }
    for (const auto& [key, bytes] : example.bytes) {
      checks.push_back(Equal(example.id + "/" + key, bytes, BytesOf(*layout, key)));
    }
    checks.push_back(NullsAgree(example.id, *layout));
    checks.push_back(SlotsHoldEveryBand(example.id, *layout));
    checks.push_back(AllocationAgrees(example.id, *layout));
    checks.push_back(OneBandEqualsVersionOne(example, create));
  }
  return checks;
}

}  // namespace draftmark
