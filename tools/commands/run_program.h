// Runs the program `draftmark` for a test, as a user would: tests of what needs all kernels, which
// would else carry them a second time.
//
//   const CommandResult result = RunProgram({"verify", "--backend", "cuda"});
//
// The test has //tools:draftmark in its data. A program that is killed gives code -1.
#ifndef DRAFTMARK_TOOLS_COMMANDS_RUN_PROGRAM_H_
#define DRAFTMARK_TOOLS_COMMANDS_RUN_PROGRAM_H_

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "src/base/check.h"
#include "src/base/file_system.h"
#include "src/base/test_folder.h"
#include "tools/commands/command_result.h"

namespace draftmark {

inline std::string ShellWord(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

inline CommandResult RunProgram(const std::vector<std::string>& arguments) {
  const TestFolder folder;
  std::string command =
      ShellWord(std::string(std::getenv("TEST_SRCDIR")) + "/draftmark/tools/draftmark");
  for (const std::string& argument : arguments) command += " " + ShellWord(argument);
  command += " >" + ShellWord(folder.Path("out")) + " 2>" + ShellWord(folder.Path("err"));
  const int status = std::system(command.c_str());
  DM_CHECK(status != -1);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadTextFile(folder.Path("out")).value(),
          ReadTextFile(folder.Path("err")).value()};
}

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_RUN_PROGRAM_H_
