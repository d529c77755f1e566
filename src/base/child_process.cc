#include "src/base/child_process.h"

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>

#include "src/base/errno_status.h"
#include "src/base/spawn.h"

namespace draftmark {
namespace {

constexpr std::chrono::milliseconds kPoll(20);

// Waits for the child to end; kills its group at the deadline.
StatusOr<ChildResult> WaitFor(pid_t child, double seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  ChildResult result;
  int status = 0;
  while (true) {
    const pid_t ended = waitpid(child, &status, result.timed_out ? 0 : WNOHANG);
    if (ended == child) break;
    // Where SIGCHLD is ignored nobody learns how it ended.
    if (ended < 0 && errno != EINTR) return ErrnoStatus(errno, "wait for", "a program");
    if (std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(kPoll);
    } else {
      result.timed_out = true;
      kill(-child, SIGKILL);
    }
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace

StatusOr<ChildResult> RunChild(const std::vector<std::string>& arguments,
                               const ChildOptions& options) {
  DM_ASSIGN_OR_RETURN(const OutputFile output, OutputFile::Create());
  DM_ASSIGN_OR_RETURN(const pid_t child,
                      Spawn(arguments, {.output = output.fd(), .directory = options.directory}));
  StatusOr<ChildResult> result = WaitFor(child, options.seconds);
  if (result.ok()) result->output = output.Tail();
  return result;
}

std::string LastLine(std::string_view output) {
  constexpr std::size_t kMostCharacters = 300;
  std::string last;
  while (!output.empty()) {
    const std::size_t end = output.find('\n');
    std::string line;
    for (const char c : output.substr(0, end)) {
      if (c >= ' ' && c <= '~') line += c;
    }
    if (line.find_first_not_of(' ') != std::string::npos) last = std::move(line);
    output.remove_prefix(end == std::string_view::npos ? output.size() : end + 1);
  }
  return last.substr(0, kMostCharacters);
}

}  // namespace draftmark
