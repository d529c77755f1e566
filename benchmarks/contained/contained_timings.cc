#include "benchmarks/contained/contained_timings.h"

#include <fmt/format.h>

#include <utility>

#include "benchmarks/contained/timing_protocol.h"
#include "src/base/service_process.h"

namespace draftmark {

// One process, as far as it goes. A failed request is its last one, but for what says of the work
// alone that it cannot be timed.
class TimingProcess {
 public:
  static StatusOr<std::unique_ptr<TimingProcess>> Start(const ContainedOptions& options) {
    DM_ASSIGN_OR_RETURN(auto service, ServiceProcess::Start(options.command, {}));
    return std::unique_ptr<TimingProcess>(new TimingProcess(std::move(service), options));
  }

  enum class End { kNone, kFailure, kDeath, kHang };
  End end() const { return end_; }
  bool alive() const { return end_ == End::kNone; }
  pid_t id() const { return service_->id(); }

  // The work that it was asked for before `id`; empty: none.
  const std::string& Enter(const std::string& id) {
    if (id != this_work_) work_before_ = std::exchange(this_work_, id);
    return work_before_;
  }

  StatusOr<std::string> Open() {
    return Ask<std::string>(TimingRequest::kOpen, "", options_.load_seconds, "while it was loaded",
                            [](plugin::PacketReader& reply) { return reply.Text(); });
  }
  StatusOr<bool> Supports(const std::string& id) {
    return Ask<bool>(TimingRequest::kSupports, id, options_.seconds, "when asked what it supports",
                     [](plugin::PacketReader& reply) { return reply.U64() != 0; });
  }
  StatusOr<TimedFacts> Prepare(const std::string& id) {
    return Ask<TimedFacts>(TimingRequest::kPrepare, id, options_.seconds, "", ReadFacts);
  }
  StatusOr<TimedSample> Sample() {
    return Ask<TimedSample>(TimingRequest::kSample, "", options_.seconds, "", ReadSample);
  }

 private:
  TimingProcess(std::unique_ptr<ServiceProcess> service, const ContainedOptions& options)
      : service_(std::move(service)), options_(options) {}

  Status Died(End end, std::string_view what) {
    end_ = end;
    return InternalError(fmt::format("{} {}", options_.subject, what));
  }

  template <typename T, typename Read>
  StatusOr<T> Ask(TimingRequest what, const std::string& id, double seconds, std::string_view when,
                  const Read& read) {
    // A measurement may go on asking where it should have given up.
    if (!alive()) return InternalError(options_.subject + ": its process is gone");
    plugin::PacketWriter request;
    request.U64(++requests_).U64(static_cast<std::uint64_t>(what)).Text(id);
    const ServiceReply reply = service_->Ask(request.bytes(), seconds);
    if (reply.ending) {
      const bool hang = reply.ending->kind == ServiceEnding::Kind::kTimeout;
      return Died(hang ? End::kHang : End::kDeath, reply.ending->Describe(when));
    }
    plugin::PacketReader reader(reply.bytes);
    const bool of_this_request = reader.U64() == requests_;
    const Status status = ReadStatus(reader);
    T value = {};
    if (status.ok()) value = read(reader);
    if (!of_this_request || !reader.Complete()) return Died(End::kDeath, "broke its connection");
    if (status.ok()) return value;
    const bool harmless = status.code() == StatusCode::kUnimplemented ||
                          status.code() == StatusCode::kFailedPrecondition;
    if (!harmless) end_ = End::kFailure;
    return status;
  }

  std::unique_ptr<ServiceProcess> service_;
  const ContainedOptions& options_;
  End end_ = End::kNone;
  std::uint64_t requests_ = 0;
  std::string this_work_, work_before_;
};

namespace {

// What the process has prepared.
class RemoteWork final : public TimedWork {
 public:
  RemoteWork(TimingProcess& process, double least_seconds)
      : process_(process), least_seconds_(least_seconds) {}
  StatusOr<TimedSample> Run() override { return process_.Sample(); }
  double LeastSeconds() const override { return least_seconds_; }

 private:
  TimingProcess& process_;
  const double least_seconds_;
};

}  // namespace

ContainedTimings::ContainedTimings(ContainedOptions options) : options_(std::move(options)) {}
ContainedTimings::~ContainedTimings() = default;

StatusOr<std::unique_ptr<ContainedTimings>> ContainedTimings::Open(ContainedOptions options) {
  std::unique_ptr<ContainedTimings> timings(new ContainedTimings(std::move(options)));
  DM_RETURN_IF_ERROR(timings->Process().status());
  return timings;
}

StatusOr<TimingProcess*> ContainedTimings::Process() {
  if (process_ != nullptr && process_->alive()) return process_.get();
  process_.reset();  // what it had is free for the next one
  if (options_.starts) options_.starts();
  DM_ASSIGN_OR_RETURN(process_, TimingProcess::Start(options_));
  StatusOr<std::string> description = process_->Open();
  if (!description.ok()) {
    process_.reset();
    return description.status();
  }
  description_ = *std::move(description);
  if (options_.started) options_.started(process_->id());
  return process_.get();
}

template <typename T>
StatusOr<T> ContainedTimings::Contain(const TimingWork& work,
                                      const std::function<StatusOr<T>(TimingProcess&)>& ask) {
  int& hangs = hangs_[work.group];
  if (hangs >= kMostTimingHangs) {
    return InternalError(fmt::format("{}: was not run: {} shapes of {} did not return",
                                     options_.subject, kMostTimingHangs, work.group));
  }
  DM_ASSIGN_OR_RETURN(TimingProcess* const first, Process());
  const std::string before = first->Enter(work.id);
  StatusOr<T> result = ask(*first);
  if (first->end() == TimingProcess::End::kHang) ++hangs;
  const bool may_be_anothers =
      first->end() == TimingProcess::End::kDeath || first->end() == TimingProcess::End::kFailure;
  if (!may_be_anothers || before.empty()) return result;
  // Of this work, or of what another one left behind: in a process of its own it shows.
  const StatusOr<TimingProcess*> second = Process();
  if (!second.ok()) return result;
  (*second)->Enter(work.id);
  StatusOr<T> alone = ask(**second);
  if ((*second)->end() == TimingProcess::End::kHang) ++hangs;
  if (!(*second)->alive()) return alone;
  late_failures_.push_back(
      fmt::format("{}, in {}, which is measured in a process of its own: what had run before it, "
                  "last {}, is to blame",
                  result.status().message(), work.id, before));
  return alone;
}

StatusOr<bool> ContainedTimings::Supports(const TimingWork& work) {
  return Contain<bool>(work, [&](TimingProcess& process) { return process.Supports(work.id); });
}

StatusOr<ContainedRun> ContainedTimings::Measure(const TimingWork& work,
                                                 const Measurement& measure) {
  return Contain<ContainedRun>(work, [&](TimingProcess& process) -> StatusOr<ContainedRun> {
    ContainedRun measured;
    DM_ASSIGN_OR_RETURN(measured.facts, process.Prepare(work.id));
    RemoteWork remote(process, measured.facts.least_seconds);
    DM_ASSIGN_OR_RETURN(measured.run, measure(remote));
    return measured;
  });
}

}  // namespace draftmark
