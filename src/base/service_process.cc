#include "src/base/service_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
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

enum class Transfer { kDone, kClosed, kLate };

bool TryAgain() { return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK; }

// Moves all of `bytes` by `step`, which is send or recv of what is left.
template <typename Bytes, typename Step>
Transfer Move(int descriptor, short events, Bytes bytes, SteadyClock::time_point deadline,
              const Step& step) {
  while (!bytes.empty()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now());
    if (left.count() <= 0) return Transfer::kLate;
    pollfd wait = {.fd = descriptor, .events = events, .revents = 0};
    const auto milliseconds = std::min<std::int64_t>(left.count(), std::numeric_limits<int>::max());
    if (poll(&wait, 1, static_cast<int>(milliseconds)) <= 0) continue;
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

Transfer SendAll(int descriptor, std::span<const std::byte> bytes,
                 SteadyClock::time_point deadline) {
  return Move(descriptor, POLLOUT, bytes, deadline, [&](std::span<const std::byte> left) {
    return send(descriptor, left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  });
}

Transfer ReceiveAll(int descriptor, std::span<std::byte> bytes, SteadyClock::time_point deadline) {
  return Move(descriptor, POLLIN, bytes, deadline, [&](std::span<std::byte> left) {
    return recv(descriptor, left.data(), left.size(), MSG_DONTWAIT);
  });
}

Transfer SendMessage(int descriptor, std::span<const std::byte> bytes,
                     SteadyClock::time_point deadline) {
  const std::uint64_t size = bytes.size();
  const Transfer begun =
      SendAll(descriptor, std::as_bytes(std::span<const std::uint64_t>(&size, 1)), deadline);
  return begun == Transfer::kDone ? SendAll(descriptor, bytes, deadline) : begun;
}

// Sets `garbage` for a size that cannot be.
Transfer ReceiveMessage(int descriptor, MessageBytes& bytes, bool& garbage,
                        SteadyClock::time_point deadline) {
  std::uint64_t size = 0;
  const Transfer begun =
      ReceiveAll(descriptor, std::as_writable_bytes(std::span<std::uint64_t>(&size, 1)), deadline);
  if (begun != Transfer::kDone) return begun;
  garbage = size > kLargestMessage;
  if (garbage) return Transfer::kClosed;
  bytes.resize(size);
  return ReceiveAll(descriptor, bytes, deadline);
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
      return "garbage";
  }
  return "";
}

std::string ServiceEnding::Describe() const {
  const std::string printed = output.empty() ? "" : fmt::format("; printed last: {}", output);
  switch (kind) {
    case Kind::kSignal:
      return fmt::format("crashed: signal {} ({}){}", number, ::strsignal(number), printed);
    case Kind::kExit:
      return fmt::format("ended its process with exit code {}{}", number, printed);
    case Kind::kTimeout:
      return fmt::format("did not return within {:g} s{}", seconds, printed);
    case Kind::kGarbage:
      return fmt::format("broke its connection{}", printed);
  }
  return "";
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

ServiceProcess::~ServiceProcess() {
  if (child_ != 0) {
    kill(-child_, SIGKILL);
    while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  close(socket_);
}

ServiceReply ServiceProcess::Ask(std::span<const std::byte> request, double seconds) {
  DM_CHECK(child_ != 0);
  const auto deadline = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(
                                                 std::chrono::duration<double>(seconds));
  ServiceReply reply;
  bool garbage = false;
  Transfer transfer = SendMessage(socket_, request, deadline);
  if (transfer == Transfer::kDone) {
    transfer = ReceiveMessage(socket_, reply.bytes, garbage, deadline);
  }
  if (transfer == Transfer::kDone) return reply;
  reply.bytes.clear();
  reply.ending = End(
      transfer == Transfer::kLate ? ServiceEnding::Kind::kTimeout : ServiceEnding::Kind::kGarbage,
      seconds);
  return reply;
}

ServiceEnding ServiceProcess::End(ServiceEnding::Kind kind, double seconds) {
  int status = 0;
  bool by_itself = false;
  if (kind != ServiceEnding::Kind::kTimeout) {
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
  const auto never = SteadyClock::now() + std::chrono::hours(24 * 365);
  if (ReceiveMessage(descriptor_, bytes, garbage, never) != Transfer::kDone) return std::nullopt;
  return bytes;
}

bool ServiceSocket::Send(std::span<const std::byte> bytes) {
  const auto never = SteadyClock::now() + std::chrono::hours(24 * 365);
  return SendMessage(descriptor_, bytes, never) == Transfer::kDone;
}

}  // namespace draftmark
