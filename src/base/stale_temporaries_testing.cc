#include "src/base/stale_temporaries_testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "src/base/file_system.h"
#include "src/base/status_matchers.h"

namespace draftmark {

pid_t DeadProcess() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return child;
}

std::string LeaveStaleTemporary(const std::string& folder) {
  std::string path = JoinPath(folder, fmt::format(".draftmark-{}-0-5eab.tmp", DeadProcess()));
  EXPECT_THAT(WriteTextFile(path, "half"), IsOk());
  std::filesystem::last_write_time(
      path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  return path;
}

}  // namespace draftmark
