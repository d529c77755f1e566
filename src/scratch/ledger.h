// Ledger: what is allocated, by whom, and the most there ever was. LedgerAllocator fills it.
//
//   Ledger ledger;
//   LedgerAllocator allocator(host, ledger);
//   ... allocator.Allocate({.bytes = 4096, .tag = "logits"}) ...
//   ledger.Total(MemoryKind::kDevice).live_bytes   // 4096
//   ledger.Of("logits").peak_bytes                 // 4096
//
// Bytes are those requested by whoever stands outside the ledger, not what a wrapper or the system
// adds. A failed Free keeps its bytes live: they are, unless it says DATA_LOSS (allocator.h).
// Thread-safe.
#ifndef DRAFTMARK_SRC_SCRATCH_LEDGER_H_
#define DRAFTMARK_SRC_SCRATCH_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/scratch/allocator.h"

namespace draftmark {

struct LedgerAccount {
  std::uint64_t live_bytes = 0;
  std::uint64_t live_count = 0;   // allocations not freed
  std::uint64_t peak_bytes = 0;   // the most live bytes at any time
  std::uint64_t total_count = 0;  // allocations ever made

  bool operator==(const LedgerAccount&) const = default;
};

struct LedgerLine {
  std::string tag;
  MemoryKind kind = MemoryKind::kDevice;
  LedgerAccount account;
};

class Ledger {
 public:
  void OnAllocate(DeviceAddress address, const AllocationRequest& request);
  // Addresses that the ledger does not know are ignored: it is no judge of frees.
  void OnFree(DeviceAddress address);

  // Both kinds together, one kind, one tag (both kinds). All zero for a tag never seen.
  LedgerAccount Total() const;
  LedgerAccount Total(MemoryKind kind) const;
  LedgerAccount Of(std::string_view tag) const;
  // One line per tag and kind, in the order of first use.
  std::vector<LedgerLine> Lines() const;
  // A table for people: tag, kind, live bytes, count, peak.
  std::string ToString() const;

 private:
  struct Entry {
    std::string tag;
    MemoryKind kind;
    std::uint64_t bytes;
  };

  mutable std::mutex mutex_;
  std::map<void*, Entry> live_;
  LedgerAccount total_;
  LedgerAccount by_kind_[2];
  std::map<std::string, LedgerAccount, std::less<>> by_tag_;
  std::vector<LedgerLine> lines_;
};

// Passes everything on to `inner` and enters what succeeded. Neither reference is owned; both must
// outlive this. One LedgerAllocator per Ledger.
class LedgerAllocator final : public Allocator {
 public:
  LedgerAllocator(Allocator& inner, Ledger& ledger) : inner_(inner), ledger_(ledger) {}

  StatusOr<DeviceAddress> Allocate(const AllocationRequest& request) override;
  Status Free(DeviceAddress address) override;
  Status SetBytes(DeviceAddress address, std::uint64_t bytes, std::uint8_t value,
                  StreamHandle stream) override {
    return inner_.SetBytes(address, bytes, value, stream);
  }
  Status GetBytes(DeviceAddress address, std::span<std::byte> out, StreamHandle stream) override {
    return inner_.GetBytes(address, out, stream);
  }
  Status PutBytes(DeviceAddress address, std::span<const std::byte> bytes,
                  StreamHandle stream) override {
    return inner_.PutBytes(address, bytes, stream);
  }

 private:
  // Held over both steps of a call: otherwise another thread could be given an address that is
  // free again before the ledger knows.
  std::mutex mutex_;
  Allocator& inner_;
  Ledger& ledger_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_LEDGER_H_
