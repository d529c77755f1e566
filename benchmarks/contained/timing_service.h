// TimingService: the process in which somebody else's code is timed, since that may crash or hang.
// Its other end is contained_timings.h.
//
//   class Mine final : public TimingSubject { ... };
//   int main() { Mine mine; return ServeTimings(mine); }
//
// The process is asked for one thing after the other, and for each sample by itself, so that the
// other end has a time limit for each and looks at the GPU between them. Nothing is caught here:
// what the subject dies of, the process dies of. One thread.
#ifndef DRAFTMARK_BENCHMARKS_CONTAINED_TIMING_SERVICE_H_
#define DRAFTMARK_BENCHMARKS_CONTAINED_TIMING_SERVICE_H_

#include <string>

#include "benchmarks/sampling.h"
#include "src/base/status.h"

namespace draftmark {

class TimingSubject {
 public:
  virtual ~TimingSubject() = default;

  // Once, before all else: loads what is to be timed, and says what it is.
  virtual StatusOr<std::string> Open() = 0;
  // Of a work by its id, such as "op/rms_norm/rows=16,h=4096/bf16".
  virtual StatusOr<bool> Supports(const std::string& id) = 0;
  // From now on samples are of this one.
  virtual StatusOr<TimedFacts> Prepare(const std::string& id) = 0;
  virtual StatusOr<TimedSample> Sample() = 0;
};

// Returns the exit code, once the other end is gone.
int ServeTimings(TimingSubject& subject);

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_CONTAINED_TIMING_SERVICE_H_
