// Stands for a driver's management library: with WITH_DEVICE one of an older driver, which knows
// throttle reasons by their old name, reports a fixed state and has no ECC counts; without, a
// library that cannot name a device.
#include <cstdio>

extern "C" {
int nvmlInit_v2() { return 0; }
#if WITH_DEVICE
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** device) {
  static int only = 0;
  *device = &only;
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  static int devices[2] = {0, 1};
  *device = &devices[index];
  return 0;
}
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned length) {
  std::snprintf(uuid, length, "GPU-fake-%d", *static_cast<int*>(device));
  return 0;
}
int nvmlDeviceGetClockInfo(void*, int clock, unsigned* mhz) {
  *mhz = clock == 1 ? 1980 : 3201;
  return 0;
}
int nvmlDeviceGetApplicationsClock(void*, int, unsigned* mhz) {
  *mhz = 1500;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = 4;
  return 0;
}
#endif
}
