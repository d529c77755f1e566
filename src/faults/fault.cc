#include "src/faults/fault.h"

// Empty in products.
#ifdef DRAFTMARK_FAULTS

#include <atomic>
#include <map>
#include <mutex>

#include "src/faults/device_switch.h"
#include "src/faults/fault_memory.h"

namespace draftmark {
namespace {

std::atomic<Fault> fault_that_is_on = Fault::kNone;
std::atomic<std::uint64_t> ticks = 0;
std::mutex firsts_mutex;
std::map<const void*, std::uint64_t> firsts;

}  // namespace

bool FaultIsOn(Fault fault) { return fault_that_is_on.load(std::memory_order_relaxed) == fault; }
void SetFault(Fault fault) { fault_that_is_on = fault; }
Fault FaultThatIsOn() { return fault_that_is_on; }

std::uint64_t FaultFirst(const void* owner, std::uint64_t now) {
  const std::lock_guard lock(firsts_mutex);
  return firsts.try_emplace(owner, now).first->second;
}

void ForgetFaultFirsts() {
  const std::lock_guard lock(firsts_mutex);
  firsts.clear();
}

std::uint64_t FaultTick() { return ++ticks; }

namespace {
const DeviceSwitch* first_switch = nullptr;  // constant-initialised: before every constructor
}  // namespace

DeviceSwitch::DeviceSwitch(int (*set)(int fault)) : set_(set), next_(first_switch) {
  first_switch = this;
}

int DeviceSwitch::SetAll(int fault) {
  for (const DeviceSwitch* one = first_switch; one != nullptr; one = one->next_) {
    if (const int error = one->set_(fault); error != 0) return error;
  }
  return 0;
}

int SetDeviceFaults() { return DeviceSwitch::SetAll(static_cast<int>(FaultThatIsOn())); }

}  // namespace draftmark

#endif
