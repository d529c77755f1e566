// A program for contained_timings_test: FAKE HOW LOG. HOW says what happens as it opens ("",
// "crash", ...), each process adds a line to the file LOG. The id of a work says what it does:
// "crash" while it is prepared, "crash@2" in its sample 2 (from 0), "query-crash" when it is asked
// whether it is supported, "leaves-crash" in the next work; others are timed.
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

#include "benchmarks/contained/timing_service.h"

namespace draftmark {
namespace {

[[noreturn]] void Hang() {
  while (true) ::pause();
}

Status Misbehave(const std::string& how) {
  if (how.starts_with("crash")) ::raise(SIGSEGV);
  if (how.starts_with("hang")) Hang();
  if (how.starts_with("exit")) {
    std::puts("bye");
    std::exit(0);
  }
  if (how.starts_with("throw")) throw std::runtime_error("oh no");
  if (how.starts_with("fail")) return InternalError("wrong bits");
  if (how.starts_with("unsupported")) return UnimplementedError("not this one");
  return OkStatus();
}

class Fake final : public TimingSubject {
 public:
  Fake(std::string how, const std::string& log) : how_(std::move(how)) {
    if (!log.empty()) std::ofstream(log, std::ios::app) << "process\n";
  }

  StatusOr<std::string> Open() override {
    DM_RETURN_IF_ERROR(Misbehave(how_));
    return std::string("a fake");
  }
  StatusOr<bool> Supports(const std::string& id) override {
    if (id.starts_with("query-")) DM_RETURN_IF_ERROR(Misbehave(id.substr(6)));
    return !id.starts_with("unsupported");
  }
  StatusOr<TimedFacts> Prepare(const std::string& id) override {
    id_ = id;
    samples_ = 0;
    at_ = -1;
    if (const auto number = id.find('@'); number != std::string::npos) {
      std::from_chars(id.data() + number + 1, id.data() + id.size(), at_);
    } else {
      DM_RETURN_IF_ERROR(Misbehave(id));
    }
    if (!left_behind_.empty()) DM_RETURN_IF_ERROR(Misbehave(left_behind_));
    if (id.starts_with("leaves-")) left_behind_ = id.substr(7);
    return TimedFacts{.bytes = 1000,
                      .flops = 2000.5,
                      .least_seconds = id == "too fast" ? 1.0 : 0,
                      .kernels = 3,
                      .peak_bytes = 4,
                      .reuse_bytes = 5,
                      .launches = 6,
                      .judged = true};
  }
  StatusOr<TimedSample> Sample() override {
    if (samples_++ == at_) DM_RETURN_IF_ERROR(Misbehave(id_));
    TimedSample sample = {.seconds = 1e-6 * samples_};
    if (id_ != "no clock") sample.clock_hz = 1.5e9;
    return sample;
  }

 private:
  const std::string how_;
  std::string id_, left_behind_;
  int samples_ = 0;
  int at_ = -1;
};

}  // namespace
}  // namespace draftmark

int main(int argc, char** argv) {
  draftmark::Fake fake(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
  return draftmark::ServeTimings(fake);
}
