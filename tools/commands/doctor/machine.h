// What `draftmark doctor` asks of a machine. The real one answers from the operating system; tests
// bring one whose every answer they choose (fake_machine.h).
//
// Nothing here changes the machine. Implementations need not be thread-safe.
#ifndef DRAFTMARK_TOOLS_COMMANDS_DOCTOR_MACHINE_H_
#define DRAFTMARK_TOOLS_COMMANDS_DOCTOR_MACHINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/child_process.h"
#include "src/base/status.h"
#include "src/cuda/device.h"

namespace draftmark {

class Machine {
 public:
  virtual ~Machine() = default;

  // An environment variable; nothing if it is not set or empty.
  virtual std::optional<std::string> Variable(const std::string& name) = 0;
  // The path of a program: of a bare name by PATH, of a path itself if it can be executed.
  virtual std::optional<std::string> FindProgram(const std::string& name) = 0;
  // Errors are those of RunChild.
  virtual StatusOr<ChildResult> Run(const std::vector<std::string>& arguments, double seconds) = 0;
  // The content of a small file, also of /proc. NOT_FOUND or UNAVAILABLE.
  virtual StatusOr<std::string> Read(const std::string& path) = 0;
  // Paths that match a shell pattern, ascending. A pattern without wildcards asks for existence.
  virtual std::vector<std::string> Glob(const std::string& pattern) = 0;
  // Whether this user may read and write what is at `path`.
  virtual bool CanReadAndWrite(const std::string& path) = 0;
  virtual bool IsRoot() = 0;
  // Bytes that this user may still write below an existing folder.
  virtual StatusOr<std::uint64_t> FreeDisk(const std::string& path) = 0;

  // The root of the checkout around the working directory or the program, if there is one.
  virtual std::optional<std::string> Checkout() = 0;
  // The catalogue of drafters, wherever FindInCheckout finds it.
  virtual std::optional<std::string> Catalogue() = 0;

  // What this program's own libraries see. Errors say what is missing.
  virtual StatusOr<std::vector<DeviceInfo>> Devices() = 0;
  virtual StatusOr<std::string> CublasLt() = 0;  // "PATH (version 13.1.0)"
  virtual StatusOr<std::string> Nvml() = 0;      // its path
  // The architectures that this program has code for: {"sm_80", "sm_90a"}; none without CUDA.
  virtual std::vector<std::string> BuildArchs() = 0;
};

std::unique_ptr<Machine> MakeRealMachine();

}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_COMMANDS_DOCTOR_MACHINE_H_
