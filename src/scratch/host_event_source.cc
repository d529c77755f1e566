#include "src/scratch/host_event_source.h"

#include <fmt/format.h>

#include <utility>

namespace draftmark {

Status HostEventSource::Unknown(std::uint64_t event) const {
  return InvalidArgumentError(fmt::format("event {}: never created, or destroyed", event));
}

StatusOr<std::uint64_t> HostEventSource::Create() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (std::exchange(fail_create_, false)) return ResourceExhaustedError("injected: no event left");
  pending_[next_] = false;
  return next_++;
}

Status HostEventSource::Record(std::uint64_t event, StreamHandle /*stream*/) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = pending_.find(event);
  if (found == pending_.end()) return Unknown(event);
  found->second = completion_ == Completion::kManual;
  return OkStatus();
}

Status HostEventSource::Complete(std::uint64_t event) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = pending_.find(event);
    if (found == pending_.end()) return Unknown(event);
    found->second = false;
  }
  completed_.notify_all();
  return OkStatus();
}

Status HostEventSource::Wait(std::uint64_t event) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (pending_.count(event) == 0) return Unknown(event);
  completed_.wait(lock, [&] {
    const auto found = pending_.find(event);
    return found == pending_.end() || !found->second;
  });
  return OkStatus();
}

Status HostEventSource::Destroy(std::uint64_t event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (std::exchange(fail_destroy_, false)) return InternalError("injected failure of an event");
  if (pending_.erase(event) == 0) return Unknown(event);
  return OkStatus();
}

std::uint64_t HostEventSource::live_count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return pending_.size();
}

}  // namespace draftmark
