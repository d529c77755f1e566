#include "src/base/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "src/base/errno_status.h"

namespace draftmark {
namespace {

constexpr long kMostOutput = 64 << 10;

// Gives the descriptors their places. First all go where no place is, so that none is overwritten.
bool Inherit(std::vector<int>& descriptors) {
  const int clear = kFirstInherited + static_cast<int>(descriptors.size());
  for (int& descriptor : descriptors) {
    descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, clear);
    if (descriptor < 0) return false;
  }
  int place = kFirstInherited;
  for (const int descriptor : descriptors) {
    if (dup2(descriptor, place++) < 0) return false;
  }
  return true;
}

// In the child: becomes the program, or tells why not and ends.
[[noreturn]] void Become(char* const* argv, const char* directory, int output,
                         std::vector<int>& inherited, int failure) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Out of the way of the inherited ones.
  const int told_to =
      fcntl(failure, F_DUPFD_CLOEXEC, kFirstInherited + static_cast<int>(inherited.size()));
  const int nothing = open("/dev/null", O_RDONLY);
  if (told_to >= 0 && nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
      dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0 && Inherit(inherited) &&
      (*directory == '\0' || chdir(directory) == 0)) {
    execvp(argv[0], argv);
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t told = write(told_to, &error, sizeof error);
  _exit(127);
}

}  // namespace

StatusOr<pid_t> Spawn(const std::vector<std::string>& arguments, const SpawnOptions& options) {
  int failure[2];  // the child's errno, or closed by its exec
  if (pipe2(failure, O_CLOEXEC) != 0) return ErrnoStatus(errno, "create", "a pipe");
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  std::vector<int> inherited = options.inherited;
  const pid_t child = fork();
  if (child == 0) {
    Become(argv.data(), options.directory.c_str(), options.output, inherited, failure[1]);
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
  if (read_bytes != sizeof exec_error) return child;
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  const std::string place = options.directory.empty() ? "" : " in " + options.directory;
  return ErrnoStatus(exec_error, "start", arguments.front() + place);
}

StatusOr<OutputFile> OutputFile::Create() {
  std::FILE* const file = std::tmpfile();
  if (file == nullptr) return ErrnoStatus(errno, "create", "a temporary file");
  return OutputFile(file);
}

std::uint64_t OutputFile::Bytes() const {
  struct stat facts = {};
  return fstat(fd(), &facts) == 0 ? static_cast<std::uint64_t>(facts.st_size) : 0;
}

std::string OutputFile::Tail() const {
  std::FILE* const file = file_.get();
  std::fseek(file, 0, SEEK_END);
  const long bytes = std::ftell(file);
  std::string text(static_cast<std::size_t>(std::clamp(bytes, 0L, kMostOutput)), '\0');
  std::fseek(file, bytes - static_cast<long>(text.size()), SEEK_SET);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  return text;
}

}  // namespace draftmark
