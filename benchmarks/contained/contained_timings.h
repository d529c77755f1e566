// ContainedTimings: times somebody else's code in a process of its own (timing_service.h), so that
// its crash, its exit or its silence costs one benchmark, and the rest of the report is there.
//
//   DM_ASSIGN_OR_RETURN(const auto timings,
//                       ContainedTimings::Open({.command = .., .subject = ..}));
//   DM_ASSIGN_OR_RETURN(const bool supported, timings->Supports(work));
//   DM_ASSIGN_OR_RETURN(const ContainedRun run, timings->Measure(work, [&](TimedWork& timed) {
//     return TakeSamples(timed, monitor, watch, options);
//   }));
//
// What goes wrong is the status of that work, which says so: "./libmine.so crashed: signal 11
// (Segmentation fault)", "./libmine.so did not return within 60 s", or what the subject answered.
// The next work has a fresh process, since what failed may have left anything behind. What fails in
// a process that has run another work may fail because of that one (a thread that it left, memory
// that it overwrote): it is measured once more in a fresh process, and if it can be there, that is
// its result, and `late_failures` has the other. Of a group of works (an operation's shapes) two of
// which did not return no other is run. One thread, always the same.
#ifndef DRAFTMARK_BENCHMARKS_CONTAINED_CONTAINED_TIMINGS_H_
#define DRAFTMARK_BENCHMARKS_CONTAINED_CONTAINED_TIMINGS_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/contained/timing_service.h"
#include "benchmarks/sampling.h"
#include "src/base/status.h"

namespace draftmark {

inline constexpr int kMostTimingHangs = 2;

struct ContainedOptions {
  std::vector<std::string> command;  // runs ServeTimings
  std::string subject;               // whose code it is, for messages
  double seconds = 60;               // that one request may take: a query, a preparation, a sample
  double load_seconds = 60;          // that TimingSubject::Open may take
  // Called before a process is started and once it is open, with its id.
  std::function<void()> starts = {};
  std::function<void(pid_t)> started = {};
};

struct TimingWork {
  std::string id;
  std::string group;
};

struct ContainedRun {
  TimedFacts facts;
  SampledRun run;
};

class TimingProcess;

class ContainedTimings {
 public:
  using Measurement = std::function<StatusOr<SampledRun>(TimedWork&)>;

  // Starts the first process. Errors are the subject's own, INTERNAL if its process died, and those
  // of ServiceProcess::Start.
  static StatusOr<std::unique_ptr<ContainedTimings>> Open(ContainedOptions options);
  ~ContainedTimings();

  // What the subject says that it is.
  const std::string& description() const { return description_; }

  StatusOr<bool> Supports(const TimingWork& work);
  // Prepares the work and calls `measure` with it, twice at most. A status of `measure` itself is
  // handed on, too.
  StatusOr<ContainedRun> Measure(const TimingWork& work, const Measurement& measure);

  // What failed in a work that is not to blame, each as a line. Failures of the subject all the
  // same.
  const std::vector<std::string>& late_failures() const { return late_failures_; }

 private:
  explicit ContainedTimings(ContainedOptions options);

  // The process, a new one if there is none.
  StatusOr<TimingProcess*> Process();
  // `ask` in the process, and perhaps again in another one.
  template <typename T>
  StatusOr<T> Contain(const TimingWork& work,
                      const std::function<StatusOr<T>(TimingProcess&)>& ask);

  const ContainedOptions options_;
  std::unique_ptr<TimingProcess> process_;
  std::string description_;
  std::map<std::string, int> hangs_;  // by group
  std::vector<std::string> late_failures_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_BENCHMARKS_CONTAINED_CONTAINED_TIMINGS_H_
