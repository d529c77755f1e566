// How much device memory a piece of work takes at most, by what the device has free: allocations with
// all rounding of the driver, graphs, and what libraries take on their own, which no ledger sees.
//
//   DM_ASSIGN_OR_RETURN(DeviceHighWater water, DeviceHighWater::Begin(FreeDeviceBytes));
//   ... work ...
//   DM_RETURN_IF_ERROR(water.Look());   // wherever it may be at its most
//   water.bytes();
//
// Exact where nobody else uses the device meanwhile, and where the work was done once before: code is
// loaded at its first use, and stays. Errors are those of the question. One thread.
#ifndef DRAFTMARK_BENCHMARKS_DEVICE_HIGH_WATER_H_
#define DRAFTMARK_BENCHMARKS_DEVICE_HIGH_WATER_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "src/base/status.h"

namespace draftmark {

class DeviceHighWater {
 public:
  using FreeBytes = std::function<StatusOr<std::uint64_t>()>;

  static StatusOr<DeviceHighWater> Begin(FreeBytes free_bytes) {
    DM_ASSIGN_OR_RETURN(const std::uint64_t before, free_bytes());
    return DeviceHighWater(std::move(free_bytes), before);
  }

  Status Look() {
    DM_ASSIGN_OR_RETURN(const std::uint64_t now, free_bytes_());
    // More than before: another process has freed some, which is no use of ours.
    if (now < before_) bytes_ = std::max(bytes_, before_ - now);
    return OkStatus();
  }

  std::uint64_t bytes() const { return bytes_; }

 private:
  DeviceHighWater(FreeBytes free_bytes, std::uint64_t before)
      : free_bytes_(std::move(free_bytes)), before_(before) {}

  FreeBytes free_bytes_;
  std::uint64_t before_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_DEVICE_HIGH_WATER_H_
