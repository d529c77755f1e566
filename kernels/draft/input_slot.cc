#include "kernels/draft/input_slot.h"

#include <cstring>

#include "kernels/device/arguments.h"
#include "kernels/draft/pass_rows.h"
#include "src/scratch/dflash_borrows.h"

namespace draftmark::kernels {
namespace {

constexpr std::uint64_t kPartAlignment = 16;
constexpr std::uint64_t kContiguousWords = 3;  // of the record of the path without a cache

// Elements of each part.
struct Counts {
  Counts(const SessionPlan& plan, const SessionLimits& limits, const DrafterConfig& config)
      : rows(limits.max_batch * limits.gamma),
        positions(plan.paged ? rows : plan.layout.rows()),
        records(plan.paged ? limits.max_batch * plan.layout.argument_words() : kContiguousWords),
        // Passes outside of a captured draft go straight from the accumulators, in longer chunks.
        pass(plan.paged ? MaxPrecomputeRows(plan.layout) : 0),
        pass_positions(pass * config.num_hidden_layers),
        tap_rows(plan.paged ? PassRows(plan, config, limits.gamma, limits.max_batch) : 0),
        tables(plan.paged ? limits.max_batch * plan.blocks_per_band : 0),
        slot_bytes(plan.layout.Field("slot_mapping_dev").dtype == DType::kI32 ? 4 : 8) {}

  std::uint64_t rows, positions, records, pass, pass_positions, tap_rows, tables, slot_bytes;
};

}  // namespace

std::uint64_t InputSlot::BytesFor(const SessionPlan& plan, const SessionLimits& limits,
                                  const DrafterConfig& config) {
  const Counts c(plan, limits, config);
  std::uint64_t bytes = 0;
  for (const std::uint64_t count :
       {c.rows, c.positions, c.records, c.pass_positions, c.tap_rows, c.tables}) {
    bytes += AlignUp(count * sizeof(std::uint32_t), kPartAlignment);
  }
  return bytes + AlignUp(c.pass * c.slot_bytes, kPartAlignment);
}

InputSlot::InputSlot(std::byte* memory, const SessionPlan& plan, const SessionLimits& limits,
                     const DrafterConfig& config) {
  const Counts c(plan, limits, config);
  const auto take = [&](std::uint64_t bytes) {
    std::byte* const part = memory;
    memory += AlignUp(bytes, kPartAlignment);
    return part;
  };
  const auto words = [&]<typename T>(std::span<T>& part, std::uint64_t count) {
    part = {reinterpret_cast<T*>(take(count * sizeof(T))), count};
  };
  words(tokens, c.rows);
  words(positions, c.positions);
  words(records, c.records);
  words(pass_positions, c.pass_positions);
  words(tap_rows, c.tap_rows);
  words(tables, c.tables);
  slots = {take(c.pass * c.slot_bytes), c.pass * c.slot_bytes};
  slot_bytes_ = c.slot_bytes;
}

void InputSlot::SetSlot(std::size_t entry, std::int64_t slot) {
  // Little-endian: the lower half of a 64-bit slot is the 32-bit one.
  std::memcpy(slots.data() + entry * slot_bytes_, &slot, slot_bytes_);
}

}  // namespace draftmark::kernels
