// The CUDA devices of this machine.
//
//   StatusOr<std::vector<DeviceInfo>> devices = ListDevices();
//   if (!devices.ok()) std::cerr << devices.status().ToString();  // says what is missing
//
// UNAVAILABLE without a driver or device, and in builds without CUDA; the list of an OK answer is
// never empty. Safe to call from several threads. The first call starts the driver, which can take
// a second; no context is created on any device.
#ifndef DRAFTMARK_SRC_CUDA_DEVICE_H_
#define DRAFTMARK_SRC_CUDA_DEVICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace draftmark {

struct DeviceInfo {
  int ordinal = 0;  // what cudaSetDevice takes
  std::string name;
  int compute_major = 0;
  int compute_minor = 0;
  std::int64_t memory_bytes = 0;
  int sm_count = 0;
  std::int64_t l2_bytes = 0;
  int driver_version = 0;   // the newest CUDA that the driver knows; 13000 is 13.0
  int runtime_version = 0;  // the CUDA runtime that this program carries

  // "NVIDIA H200 (sm_90, 132 SMs, 140.4 GiB, L2 50 MiB, driver CUDA 13.0, runtime CUDA 13.0)".
  std::string Describe() const;
};

StatusOr<std::vector<DeviceInfo>> ListDevices();

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CUDA_DEVICE_H_
