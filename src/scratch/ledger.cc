#include "src/scratch/ledger.h"

#include <fmt/format.h>

#include <algorithm>

namespace draftmark {
namespace {

void Enter(LedgerAccount& account, std::uint64_t bytes) {
  account.live_bytes += bytes;
  account.live_count += 1;
  account.total_count += 1;
  account.peak_bytes = std::max(account.peak_bytes, account.live_bytes);
}

void Leave(LedgerAccount& account, std::uint64_t bytes) {
  account.live_bytes -= bytes;
  account.live_count -= 1;
}

LedgerLine& LineOf(std::vector<LedgerLine>& lines, std::string_view tag, MemoryKind kind) {
  for (LedgerLine& line : lines) {
    if (line.tag == tag && line.kind == kind) return line;
  }
  return lines.emplace_back(LedgerLine{std::string(tag), kind, {}});
}

}  // namespace

void Ledger::OnAllocate(DeviceAddress address, const AllocationRequest& request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // All that may find no memory comes before the first change of a number.
  LedgerAccount& of_tag = by_tag_[std::string(request.tag)];
  LedgerAccount& of_line = LineOf(lines_, request.tag, request.kind).account;
  live_[address.value] = {std::string(request.tag), request.kind, request.bytes};
  Enter(total_, request.bytes);
  Enter(by_kind_[static_cast<int>(request.kind)], request.bytes);
  Enter(of_tag, request.bytes);
  Enter(of_line, request.bytes);
}

void Ledger::OnFree(DeviceAddress address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = live_.find(address.value);
  if (found == live_.end()) return;
  const Entry& entry = found->second;
  Leave(total_, entry.bytes);
  Leave(by_kind_[static_cast<int>(entry.kind)], entry.bytes);
  Leave(by_tag_[entry.tag], entry.bytes);
  Leave(LineOf(lines_, entry.tag, entry.kind).account, entry.bytes);
  live_.erase(found);
}

LedgerAccount Ledger::Total() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return total_;
}

LedgerAccount Ledger::Total(MemoryKind kind) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return by_kind_[static_cast<int>(kind)];
}

LedgerAccount Ledger::Of(std::string_view tag) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = by_tag_.find(tag);
  return found == by_tag_.end() ? LedgerAccount() : found->second;
}

std::vector<LedgerLine> Ledger::Lines() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return lines_;
}

std::string Ledger::ToString() const {
  std::string text = fmt::format("{:<28} {:<12} {:>16} {:>6} {:>16}\n", "tag", "memory",
                                 "live bytes", "count", "peak bytes");
  for (const LedgerLine& line : Lines()) {
    text += fmt::format("{:<28} {:<12} {:>16} {:>6} {:>16}\n", line.tag, MemoryKindName(line.kind),
                        line.account.live_bytes, line.account.live_count, line.account.peak_bytes);
  }
  return text;
}

StatusOr<DeviceAddress> LedgerAllocator::Allocate(const AllocationRequest& request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  DM_ASSIGN_OR_RETURN(const DeviceAddress address, inner_.Allocate(request));
  try {
    ledger_.OnAllocate(address, request);
  } catch (...) {
    (void)inner_.Free(address);
    throw;
  }
  return address;
}

Status LedgerAllocator::Free(DeviceAddress address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Status status = inner_.Free(address);
  if (status.ok() || status.code() == StatusCode::kDataLoss) ledger_.OnFree(address);
  return status;
}

}  // namespace draftmark
