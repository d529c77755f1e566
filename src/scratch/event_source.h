// Events of the device's runtime behind an interface: recorded on a stream, waited for by the host.
//
// A handle is a 64-bit number and never 0. Semantics are CUDA's: Wait returns once the work that
// preceded the last Record has completed, and at once for an event never recorded. A handle that is
// not alive is INVALID_ARGUMENT. Implementations are thread-safe. A host fake is in
// host_event_source.h.
#ifndef DRAFTMARK_SRC_SCRATCH_EVENT_SOURCE_H_
#define DRAFTMARK_SRC_SCRATCH_EVENT_SOURCE_H_

#include <cstdint>

#include "src/base/status.h"
#include "src/scratch/device_address.h"

namespace draftmark {

class EventSource {
 public:
  virtual ~EventSource() = default;
  virtual StatusOr<std::uint64_t> Create() = 0;
  virtual Status Record(std::uint64_t event, StreamHandle stream) = 0;
  virtual Status Wait(std::uint64_t event) = 0;
  virtual Status Destroy(std::uint64_t event) = 0;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_SCRATCH_EVENT_SOURCE_H_
