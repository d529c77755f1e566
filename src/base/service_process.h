// ServiceProcess: a program of one's own that answers requests, and whose death or silence is an
// answer as well: for code that may crash or hang.
//
//   DM_ASSIGN_OR_RETURN(const auto service, ServiceProcess::Start({"/proc/self/exe", "serve"}, {}));
//   const ServiceReply reply = service->Ask(request, /*seconds=*/60);
//   if (reply.ending) ... reply.ending->Describe() ...   // "crashed: signal 11 (Segmentation fault)"
//
//   return RunService(Answer);                           // in that program
//
// Requests and replies are bytes; whoever uses them takes nothing in a reply for granted. A program
// that died, was silent for too long, printed without end or sent what is no reply is gone
// afterwards, with all of its process group: start another. It counts as dead when it is, though
// something that it started may live on. One thread at a time.
#ifndef DRAFTMARK_SRC_BASE_SERVICE_PROCESS_H_
#define DRAFTMARK_SRC_BASE_SERVICE_PROCESS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/spawn.h"
#include "src/base/status.h"

namespace draftmark {

using MessageBytes = std::vector<std::byte>;

// The program's end of the connection; behind it come the descriptors given to Start.
inline constexpr int kServiceDescriptor = kFirstInherited;
// A longer reply is taken for garbage.
inline constexpr std::size_t kLargestMessage = std::size_t{1} << 31;
// Of what a program prints while it is asked; beyond it is ended. Looked at a few times a second.
inline constexpr std::uint64_t kMostPrinted = std::uint64_t{64} << 20;

struct ServiceEnding {
  enum class Kind { kSignal, kExit, kTimeout, kGarbage, kFlood };
  Kind kind = Kind::kExit;
  int number = 0;      // of the signal, or the exit code
  double seconds = 0;  // that it was given
  std::string output;  // the last line that it printed; may be empty

  // "crash", "exit", "hang", "garbage" (a flood as well).
  std::string_view KindName() const;
  // "crashed: signal 11 (Segmentation fault)", "ended its process with exit code 0", "did not
  // return within 60 s", then `when` ("while it was loaded"), and what it printed last, printable.
  std::string Describe(std::string_view when = "") const;
};

struct ServiceReply {
  MessageBytes bytes;
  std::optional<ServiceEnding> ending;  // set: there is no reply
};

class ServiceProcess {
 public:
  // Errors are those of Spawn.
  static StatusOr<std::unique_ptr<ServiceProcess>> Start(const std::vector<std::string>& arguments,
                                                         const std::vector<int>& inherited);
  ~ServiceProcess();
  ServiceProcess(const ServiceProcess&) = delete;
  ServiceProcess& operator=(const ServiceProcess&) = delete;

  // The process; 0 after an ending.
  pid_t id() const { return child_; }

  // Not after an ending.
  ServiceReply Ask(std::span<const std::byte> request, double seconds);

 private:
  ServiceProcess(pid_t child, int socket, OutputFile output);

  // Kills and reaps it; how it ended by itself, if it did.
  ServiceEnding End(ServiceEnding::Kind kind, double seconds);
  // What nobody asked for.
  bool SomethingWaits() const;

  pid_t child_;  // 0: reaped
  int ended_;    // readable when it has ended; -1 where the system has no such descriptors
  int socket_;
  OutputFile output_;
};

// All that such a program does: answers until the other side is gone, and returns the exit code. A
// crash is the other side's to tell, so there are no handlers of sanitizers and no core files.
// Programs that this one starts do not have the connection, nor the `inherited` descriptors behind
// it.
int RunService(const std::function<MessageBytes(const MessageBytes& request)>& answer,
               int inherited = 0);

// The program's side. Does not own the descriptor.
class ServiceSocket {
 public:
  explicit ServiceSocket(int descriptor) : descriptor_(descriptor) {}
  // Nothing once the other side is gone.
  std::optional<MessageBytes> Receive();
  bool Send(std::span<const std::byte> bytes);

 private:
  int descriptor_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_SERVICE_PROCESS_H_
