// CudaEventSource: CUDA events behind the scratch's EventSource interface (src/scratch/event_source.h,
// whose rules it keeps).
//
// Events carry no time, which makes them cheaper; Wait blocks the host without spinning. Events that
// are alive when the source is destroyed are destroyed with it. Thread-safe. Record may stand in a
// captured region, Create and Wait may not.
#ifndef DRAFTMARK_SRC_CUDA_CUDA_EVENT_SOURCE_H_
#define DRAFTMARK_SRC_CUDA_CUDA_EVENT_SOURCE_H_

#include <cstdint>
#include <mutex>
#include <set>

#include "src/scratch/event_source.h"

namespace draftmark {

class CudaEventSource final : public EventSource {
 public:
  CudaEventSource() = default;
  CudaEventSource(const CudaEventSource&) = delete;
  CudaEventSource& operator=(const CudaEventSource&) = delete;
  ~CudaEventSource() override;

  StatusOr<std::uint64_t> Create() override;
  Status Record(std::uint64_t event, StreamHandle stream) override;
  Status Wait(std::uint64_t event) override;
  Status Destroy(std::uint64_t event) override;

  std::uint64_t live_count() const;

 private:
  // INVALID_ARGUMENT for a handle that is not alive.
  Status CheckAlive(std::uint64_t event) const;

  mutable std::mutex mutex_;
  std::set<std::uint64_t> live_;  // addresses of cudaEvent_t objects, never 0
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_CUDA_CUDA_EVENT_SOURCE_H_
