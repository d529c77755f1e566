// The list behind device_fault.cuh; faulty builds only.
#ifndef DRAFTMARK_SRC_FAULTS_DEVICE_SWITCH_H_
#define DRAFTMARK_SRC_FAULTS_DEVICE_SWITCH_H_

namespace draftmark {

class DeviceSwitch {
 public:
  // `set` copies the number of a fault to one module of the device: 0, or a cudaError_t.
  explicit DeviceSwitch(int (*set)(int fault));
  static int SetAll(int fault);

 private:
  int (*const set_)(int fault);
  const DeviceSwitch* const next_;
};

// Switches the process's fault on in device code: 0, or the first cudaError_t.
int SetDeviceFaults();

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_FAULTS_DEVICE_SWITCH_H_
