// Child processes of the tests that kill writers.
#ifndef DRAFTMARK_SRC_PERF_HISTORY_FORK_TESTING_H_
#define DRAFTMARK_SRC_PERF_HISTORY_FORK_TESTING_H_

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace draftmark {

// A child process that does `work` and ends with its result.
inline pid_t Fork(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  EXPECT_GT(child, 0);
  return child;
}

// Its exit code, or 128 and the signal.
inline int Wait(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_PERF_HISTORY_FORK_TESTING_H_
