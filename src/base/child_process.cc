#include "src/base/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>

#include "src/base/errno_status.h"

namespace draftmark {
namespace {

constexpr long kMostOutput = 64 << 10;
constexpr std::chrono::milliseconds kPoll(20);

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// In the child: becomes the program, or tells why not and ends.
[[noreturn]] void Become(char* const* argv, const char* directory, int output, int failure) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
      dup2(output, STDERR_FILENO) >= 0 && (*directory == '\0' || chdir(directory) == 0)) {
    execvp(argv[0], argv);
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t told = write(failure, &error, sizeof error);
  _exit(127);
}

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

std::string Tail(std::FILE* file) {
  std::fseek(file, 0, SEEK_END);
  const long bytes = std::ftell(file);
  std::string text(static_cast<std::size_t>(std::clamp(bytes, 0L, kMostOutput)), '\0');
  std::fseek(file, bytes - static_cast<long>(text.size()), SEEK_SET);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  return text;
}

}  // namespace

StatusOr<ChildResult> RunChild(const std::vector<std::string>& arguments,
                               const ChildOptions& options) {
  const File output(std::tmpfile());
  if (output == nullptr) return ErrnoStatus(errno, "create", "a temporary file");
  int failure[2];  // the child's errno, or closed by its exec
  if (pipe2(failure, O_CLOEXEC) != 0) return ErrnoStatus(errno, "create", "a pipe");
  std::vector<char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    Become(argv.data(), options.directory.c_str(), fileno(output.get()), failure[1]);
  }
  const int fork_error = errno;
  close(failure[1]);
  if (child < 0) {
    close(failure[0]);
    return ErrnoStatus(fork_error, "start", arguments.front());
  }
  int exec_error = 0;
  ssize_t read_bytes = 0;
  do {
    read_bytes = read(failure[0], &exec_error, sizeof exec_error);
  } while (read_bytes < 0 && errno == EINTR);
  close(failure[0]);
  StatusOr<ChildResult> result = WaitFor(child, options.seconds);
  if (read_bytes == sizeof exec_error) {
    const std::string place = options.directory.empty() ? "" : " in " + options.directory;
    return ErrnoStatus(exec_error, "start", arguments.front() + place);
  }
  if (result.ok()) result->output = Tail(output.get());
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
