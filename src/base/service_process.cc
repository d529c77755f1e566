#include "src/base/service_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <thread>

#include "src/base/check.h"
#include "src/base/child_process.h"
#include "src/base/errno_status.h"

namespace draftmark {
namespace {

using SteadyClock = std::chrono::steady_clock;

// For a program that has closed its end to be gone by itself.
constexpr std::chrono::milliseconds kGrace(2000);
constexpr std::chrono::milliseconds kPoll(2);

// How often a program's output is looked at.
constexpr std::chrono::milliseconds kLook(200);

enum class Transfer { kDone, kClosed, kLate, kFlood };

// What ends a transfer but for its own end.
struct Limits {
  SteadyClock::time_point deadline;
  int ended = -1;                      // a descriptor that is readable then
  const OutputFile* output = nullptr;  // of the other side
  std::uint64_t most_printed = 0;      // the file's size
};

bool TryAgain() { return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK; }

// Moves all of `bytes` by `step`, which is send or recv of what is left.
template <typename Bytes, typename Step>
Transfer Move(int descriptor, short events, Bytes bytes, const Limits& limits, const Step& step) {
  while (!bytes.empty()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(limits.deadline - SteadyClock::now());
    if (left.count() <= 0) return Transfer::kLate;
    if (limits.output != nullptr && limits.output->Bytes() > limits.most_printed)
      return Transfer::kFlood;
    pollfd wait[] = {{.fd = descriptor, .events = events, .revents = 0},
                     {.fd = limits.ended, .events = POLLIN, .revents = 0}};
    auto milliseconds = std::min<std::int64_t>(left.count(), std::numeric_limits<int>::max());
    if (limits.output != nullptr) milliseconds = std::min(milliseconds, kLook.count());
    if (poll(wait, std::size(wait), static_cast<int>(milliseconds)) <= 0) continue;
    if (wait[0].revents == 0) return Transfer::kClosed;  // it has ended, and has nothing to say
    const ssize_t moved = step(bytes);
    if (moved == 0) return Transfer::kClosed;
    if (moved < 0) {
      if (TryAgain()) continue;
      return Transfer::kClosed;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(moved));
  }
  return Transfer::kDone;
}

Transfer SendAll(int descriptor, std::span<const std::byte> bytes, const Limits& limits) {
  return Move(descriptor, POLLOUT, bytes, limits, [&](std::span<const std::byte> left) {
    return send(descriptor, left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  });
}

Transfer ReceiveAll(int descriptor, std::span<std::byte> bytes, const Limits& limits) {
  return Move(descriptor, POLLIN, bytes, limits, [&](std::span<std::byte> left) {
    return recv(descriptor, left.data(), left.size(), MSG_DONTWAIT);
  });
}

Transfer SendMessage(int descriptor, std::span<const std::byte> bytes, const Limits& limits) {
  const std::uint64_t size = bytes.size();
  const Transfer begun =
      SendAll(descriptor, std::as_bytes(std::span<const std::uint64_t>(&size, 1)), limits);
  return begun == Transfer::kDone ? SendAll(descriptor, bytes, limits) : begun;
}

// Sets `garbage` for a size that cannot be.
Transfer ReceiveMessage(int descriptor, MessageBytes& bytes, bool& garbage, const Limits& limits) {
  std::uint64_t size = 0;
  const Transfer begun =
      ReceiveAll(descriptor, std::as_writable_bytes(std::span<std::uint64_t>(&size, 1)), limits);
  if (begun != Transfer::kDone) return begun;
  garbage = size > kLargestMessage;
  if (garbage) return Transfer::kClosed;
  bytes.resize(size);
  return ReceiveAll(descriptor, bytes, limits);
}

}  // namespace

std::string_view ServiceEnding::KindName() const {
  switch (kind) {
    case Kind::kSignal:
      return "crash";
    case Kind::kExit:
      return "exit";
    case Kind::kTimeout:
      return "hang";
    case Kind::kGarbage:
    case Kind::kFlood:
      return "garbage";
  }
  return "";
}

std::string ServiceEnding::Describe(std::string_view when) const {
  std::string what;
  switch (kind) {
    case Kind::kSignal:
      what = fmt::format("crashed: signal {} ({})", number, ::strsignal(number));
      break;
    case Kind::kExit:
      what = fmt::format("ended its process with exit code {}", number);
      break;
    case Kind::kTimeout:
      what = fmt::format("did not return within {:g} s", seconds);
      break;
    case Kind::kGarbage:
      what = "broke its connection";
      break;
    case Kind::kFlood:
      what = fmt::format("printed more than {} MiB", kMostPrinted >> 20);
      break;
  }
  if (!when.empty()) what += fmt::format(" {}", when);
  return output.empty() ? what : fmt::format("{}; printed last: {}", what, output);
}

StatusOr<std::unique_ptr<ServiceProcess>> ServiceProcess::Start(
    const std::vector<std::string>& arguments, const std::vector<int>& inherited) {
  DM_ASSIGN_OR_RETURN(OutputFile output, OutputFile::Create());
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoStatus(errno, "create", "a socket pair");
  }
  std::vector<int> descriptors = {ends[1]};
  descriptors.insert(descriptors.end(), inherited.begin(), inherited.end());
  const StatusOr<pid_t> child = Spawn(arguments, {.output = output.fd(), .inherited = descriptors});
  close(ends[1]);
  if (!child.ok()) {
    close(ends[0]);
    return child.status();
  }
  return std::unique_ptr<ServiceProcess>(new ServiceProcess(*child, ends[0], std::move(output)));
}

ServiceProcess::ServiceProcess(pid_t child, int socket, OutputFile output)
    : child_(child),
      // Nobody else reaps the child, so its id is its own. Closed in programs that are started later.
      ended_(static_cast<int>(syscall(SYS_pidfd_open, child, 0))),
      socket_(socket),
      output_(std::move(output)) {}

ServiceProcess::~ServiceProcess() {
  if (child_ != 0) {
    kill(-child_, SIGKILL);
    while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (ended_ >= 0) close(ended_);
  close(socket_);
}

bool ServiceProcess::SomethingWaits() const {
  std::byte byte;
  return recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

ServiceReply ServiceProcess::Ask(std::span<const std::byte> request, double seconds) {
  DM_CHECK(child_ != 0);
  const Limits limits = {
      .deadline = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(
                                           std::chrono::duration<double>(seconds)),
      .ended = ended_,
      .output = &output_,
      .most_printed = output_.Bytes() + kMostPrinted};
  ServiceReply reply;
  // A second reply to an earlier request would be taken for the answer to this one.
  bool garbage = SomethingWaits();
  Transfer transfer = garbage ? Transfer::kClosed : SendMessage(socket_, request, limits);
  if (transfer == Transfer::kDone) {
    transfer = ReceiveMessage(socket_, reply.bytes, garbage, limits);
  }
  if (transfer == Transfer::kDone) return reply;
  reply.bytes.clear();
  reply.ending = End(transfer == Transfer::kLate    ? ServiceEnding::Kind::kTimeout
                     : transfer == Transfer::kFlood ? ServiceEnding::Kind::kFlood
                                                    : ServiceEnding::Kind::kGarbage,
                     seconds);
  return reply;
}

ServiceEnding ServiceProcess::End(ServiceEnding::Kind kind, double seconds) {
  int status = 0;
  bool by_itself = false;
  if (kind == ServiceEnding::Kind::kGarbage) {
    const auto deadline = SteadyClock::now() + kGrace;
    while (!by_itself && SteadyClock::now() < deadline) {
      by_itself = waitpid(child_, &status, WNOHANG) == child_;
      if (!by_itself) std::this_thread::sleep_for(kPoll);
    }
  }
  kill(-child_, SIGKILL);  // what it started, too
  while (!by_itself && waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = 0;
  ServiceEnding ending = {.kind = kind, .seconds = seconds, .output = LastLine(output_.Tail())};
  if (!by_itself) return ending;
  ending.kind = WIFSIGNALED(status) ? ServiceEnding::Kind::kSignal : ServiceEnding::Kind::kExit;
  ending.number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  return ending;
}

std::optional<MessageBytes> ServiceSocket::Receive() {
  MessageBytes bytes;
  bool garbage = false;
  const Limits never = {.deadline = SteadyClock::now() + std::chrono::hours(24 * 365)};
  if (ReceiveMessage(descriptor_, bytes, garbage, never) != Transfer::kDone) return std::nullopt;
  return bytes;
}

bool ServiceSocket::Send(std::span<const std::byte> bytes) {
  const Limits never = {.deadline = SteadyClock::now() + std::chrono::hours(24 * 365)};
  return SendMessage(descriptor_, bytes, never) == Transfer::kDone;
}

int RunService(const std::function<MessageBytes(const MessageBytes& request)>& answer,
               int inherited) {
  for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) signal(crash, SIG_DFL);
  const rlimit no_core = {.rlim_cur = 0, .rlim_max = 0};
  setrlimit(RLIMIT_CORE, &no_core);
  for (int i = 0; i <= inherited; ++i) fcntl(kServiceDescriptor + i, F_SETFD, FD_CLOEXEC);
  const pid_t self = getpid();
  ServiceSocket socket(kServiceDescriptor);
  while (const std::optional<MessageBytes> request = socket.Receive()) {
    const MessageBytes reply = answer(*request);
    // A child that the answer forked, and that came back here, is not asked.
    if (getpid() != self) _exit(0);
    if (!socket.Send(reply)) return 1;
  }
  return 0;
}

}  // namespace draftmark
