// HostEventSource: events without a device, for the reference backend and tests.
//
// kImmediate: work on the host is done when Record is called, so an event completes at once.
// kManual: an event completes when a test (playing the device) calls Complete; Wait blocks until
// then. Thread-safe. Errors: see EventSource.
#ifndef DRAFTMARK_SRC_SCRATCH_HOST_EVENT_SOURCE_H_
#define DRAFTMARK_SRC_SCRATCH_HOST_EVENT_SOURCE_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>

#include "src/scratch/event_source.h"

namespace draftmark {

class HostEventSource final : public EventSource {
 public:
  enum class Completion { kImmediate, kManual };
  explicit HostEventSource(Completion completion = Completion::kImmediate)
      : completion_(completion) {}

  StatusOr<std::uint64_t> Create() override;
  Status Record(std::uint64_t event, StreamHandle stream) override;
  Status Wait(std::uint64_t event) override;
  Status Destroy(std::uint64_t event) override;

  // The work before the event's last Record is done.
  Status Complete(std::uint64_t event);
  std::uint64_t live_count() const;
  // The next Create fails with RESOURCE_EXHAUSTED, the next Destroy with INTERNAL.
  void FailNextCreate() { fail_create_ = true; }
  void FailNextDestroy() { fail_destroy_ = true; }

 private:
  Status Unknown(std::uint64_t event) const;

  const Completion completion_;
  mutable std::mutex mutex_;
  std::condition_variable completed_;
  std::map<std::uint64_t, bool> pending_;  // alive -> recorded and not yet completed
  std::uint64_t next_ = 1;
  bool fail_create_ = false;
  bool fail_destroy_ = false;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_HOST_EVENT_SOURCE_H_
