// Spawn: starts another program, for those who wait for it or talk to it (child_process.h,
// service_process.h), and the file that takes what it prints.
//
//   DM_ASSIGN_OR_RETURN(const OutputFile output, OutputFile::Create());
//   DM_ASSIGN_OR_RETURN(const pid_t child, Spawn({"python3", "x.py"}, {.output = output.fd()}));
//   ... waitpid(child) ...
//   output.Tail()
//
// The program is found by PATH, has this one's environment and no input, leads a process group of its
// own, and is killed when this program (the thread that started it) ends. Thread-safe.
#ifndef DRAFTMARK_SRC_BASE_SPAWN_H_
#define DRAFTMARK_SRC_BASE_SPAWN_H_

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace draftmark {

// The first descriptor of SpawnOptions::inherited in the new program.
inline constexpr int kFirstInherited = 3;

struct SpawnOptions {
  int output = -1;                  // becomes its standard output and error
  std::string directory = {};       // where it runs; empty: here
  std::vector<int> inherited = {};  // become descriptors 3, 4, ...
};

// Returns once the program runs. `arguments` begin with it. NOT_FOUND if there is no such program or
// folder, UNAVAILABLE if it cannot be started, RESOURCE_EXHAUSTED without place for another process.
StatusOr<pid_t> Spawn(const std::vector<std::string>& arguments, const SpawnOptions& options);

// A temporary file without a name.
class OutputFile {
 public:
  static StatusOr<OutputFile> Create();
  int fd() const { return fileno(file_.get()); }
  std::string Tail() const;  // the last 64 KiB
  std::uint64_t Bytes() const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  explicit OutputFile(std::FILE* file) : file_(file) {}

  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_SPAWN_H_
