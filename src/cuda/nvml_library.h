// The driver's management library (NVML), opened while the program runs: clocks, throttle reasons,
// power, temperature, ECC counts and processes of a GPU.
//
//   const StatusOr<NvmlFunctions> nvml = LoadNvml();   // UNAVAILABLE: nothing is known of the GPU
//   if (nvml.ok() && nvml->init() == kNvmlSuccess) ...
//
// The types below are NVML's own by its documented interface, which NVIDIA keeps for old programs, so
// no header of a toolkit is needed. A library that was opened stays open until the process ends.
// Thread-safe.
#ifndef DRAFTMARK_SRC_CUDA_NVML_LIBRARY_H_
#define DRAFTMARK_SRC_CUDA_NVML_LIBRARY_H_

#include <string>
#include <vector>

#include "src/base/status.h"

namespace draftmark {

// nvmlReturn_t: those that matter here.
inline constexpr int kNvmlSuccess = 0;
inline constexpr int kNvmlInsufficientSize = 7;

// nvmlClockType_t, nvmlTemperatureSensors_t, nvmlMemoryErrorType_t, nvmlEccCounterType_t.
inline constexpr int kNvmlClockSm = 1;
inline constexpr int kNvmlClockMemory = 2;
inline constexpr int kNvmlTemperatureGpu = 0;
inline constexpr int kNvmlEccCorrected = 0;
inline constexpr int kNvmlEccUncorrected = 1;
inline constexpr int kNvmlEccVolatile = 0;

using NvmlDevice = void*;

// nvmlProcessInfo_t of nvmlDeviceGetComputeRunningProcesses_v3.
struct NvmlProcess {
  unsigned pid = 0;
  unsigned long long used_gpu_memory = 0;
  unsigned gpu_instance_id = 0;
  unsigned compute_instance_id = 0;
};
static_assert(sizeof(NvmlProcess) == 24);

// A function that this library lacks is null, but for the first two: what it tells is then unknown.
struct NvmlFunctions {
  std::string path;  // the name it was opened by

  int (*init)() = nullptr;
  int (*device_by_pci_bus_id)(const char* id, NvmlDevice* device) = nullptr;
  int (*device_count)(unsigned* count) = nullptr;
  int (*device_by_index)(unsigned index, NvmlDevice* device) = nullptr;
  int (*device_uuid)(NvmlDevice device, char* uuid, unsigned length) = nullptr;
  int (*clock_info)(NvmlDevice device, int clock, unsigned* mhz) = nullptr;
  // The clocks that were asked for, and those that would be without anyone asking.
  int (*application_clock)(NvmlDevice device, int clock, unsigned* mhz) = nullptr;
  int (*default_application_clock)(NvmlDevice device, int clock, unsigned* mhz) = nullptr;
  int (*throttle_reasons)(NvmlDevice device, unsigned long long* reasons) = nullptr;
  int (*power_usage)(NvmlDevice device, unsigned* milliwatts) = nullptr;
  int (*temperature)(NvmlDevice device, int sensor, unsigned* celsius) = nullptr;
  int (*ecc_errors)(NvmlDevice device, int kind, int counter, unsigned long long* n) = nullptr;
  int (*compute_processes)(NvmlDevice device, unsigned* count, NvmlProcess* infos) = nullptr;
};

// The first that can be opened and has the functions that must be there. UNAVAILABLE names what was
// looked for and what was found.
StatusOr<NvmlFunctions> LoadNvml(const std::vector<std::string>& candidates = {
                                     "libnvidia-ml.so.1"});

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CUDA_NVML_LIBRARY_H_
