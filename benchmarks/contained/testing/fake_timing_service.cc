// A program for contained_timings_test: FAKE HOW LOG. HOW says what happens as it opens ("",
// "crash", ...), each process adds a line to the file LOG. The id of a work says what it does:
// "crash" while it is prepared, "crash@2" in its sample 2 (from 0), "query-crash" when it is asked
// whether it is supported, "leaves-crash" in the next work, "late answer" and "short answer" answer
// with what is none; others are timed.
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "benchmarks/contained/timing_service.h"
#include "src/base/service_process.h"

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

// Sends an answer of its own, in front of the true one: its number, status code, length of a
// message, value.
void Forge(const std::vector<std::uint64_t>& fields) {
  ServiceSocket(kServiceDescriptor).Send(std::as_bytes(std::span(fields)));
}

class Fake final : public TimingSubject {
 public:
  Fake(std::string how, const std::string& log) : how_(std::move(how)) {
    if (!log.empty()) std::ofstream(log, std::ios::app) << "process\n";
  }

  StatusOr<std::string> Open() override {
    ++requests_;
    DM_RETURN_IF_ERROR(Misbehave(how_));
    return std::string("a fake");
  }
  StatusOr<bool> Supports(const std::string& id) override {
    ++requests_;
    if (id == "late answer") Forge({requests_ - 1, 0, 0, 1});
    if (id == "short answer") Forge({requests_, 0, 0});
    if (id.starts_with("query-")) DM_RETURN_IF_ERROR(Misbehave(id.substr(6)));
    return !id.starts_with("unsupported");
  }
  StatusOr<TimedFacts> Prepare(const std::string& id) override {
    ++requests_;
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
    ++requests_;
    if (samples_++ == at_) DM_RETURN_IF_ERROR(Misbehave(id_));
    TimedSample sample = {.seconds = 1e-6 * samples_};
    if (id_ != "no clock") sample.clock_hz = 1.5e9;
    return sample;
  }

 private:
  const std::string how_;
  std::string id_, left_behind_;
  std::uint64_t requests_ = 0;
  int samples_ = 0;
  int at_ = -1;
};

}  // namespace
}  // namespace draftmark

int main(int argc, char** argv) {
  draftmark::Fake fake(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
  return draftmark::ServeTimings(fake);
}
