// A GPU of this machine for one process alone, among all processes that ask in this way: tests of one
// `bazel test`, of two of them, of two users.
//
//   const std::vector<std::string> devices = LeasableDevices(LoadNvml());
//   if (!devices.empty()) {
//     DM_ASSIGN_OR_RETURN(const DeviceLease lease, DeviceLease::Take(devices, shard_index));
//     ::setenv("CUDA_VISIBLE_DEVICES", lease.device().c_str(), 1);   // before the first call of CUDA
//   }
//
// A lease is a lock on a file named after the device in a folder that all processes share; it ends
// with the object, or with the process however that ends. Programs that take no lease (benchmarks,
// training) are not kept away. Not thread-safe.
#ifndef DRAFTMARK_SRC_CUDA_DEVICE_LEASE_H_
#define DRAFTMARK_SRC_CUDA_DEVICE_LEASE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/cuda/nvml_library.h"

namespace draftmark {

// Of CUDA_VISIBLE_DEVICES where it is set (tests of one machine should then name devices in one way),
// else the UUIDs of all that the driver shows. Empty: nothing is known of any GPU.
std::vector<std::string> LeasableDevices(const StatusOr<NvmlFunctions>& nvml);

class DeviceLease {
 public:
  // The first of `devices` that is free, where the search begins at number `first` modulo their
  // count, so that shards spread out; waits where none is. The locks lie in the first of `folders`
  // that is there. UNAVAILABLE names the file that cannot be locked, and why.
  static StatusOr<DeviceLease> Take(const std::vector<std::string>& devices, std::size_t first = 0,
                                    const std::vector<std::string>& folders = {"/dev/shm", "/tmp"});
  // The same, but none where no device is free.
  static StatusOr<std::optional<DeviceLease>> TryTake(const std::vector<std::string>& devices,
                                                      std::size_t first,
                                                      const std::vector<std::string>& folders);

  DeviceLease(DeviceLease&& other) noexcept;
  DeviceLease& operator=(DeviceLease&& other) noexcept;
  ~DeviceLease();

  // What CUDA_VISIBLE_DEVICES takes.
  const std::string& device() const { return device_; }

 private:
  DeviceLease(std::string device, int file) : device_(std::move(device)), file_(file) {}

  std::string device_;
  int file_ = -1;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CUDA_DEVICE_LEASE_H_
