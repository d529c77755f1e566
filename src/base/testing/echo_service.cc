// A program for service_process_test: answers each request as it says.
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "src/base/service_process.h"

int main(int /*argc*/, char** argv) {
  using draftmark::kServiceDescriptor;
  ::signal(SIGSEGV, SIG_DFL);  // sanitizers have a handler of their own
  draftmark::ServiceSocket socket(kServiceDescriptor);
  while (const auto bytes = socket.Receive()) {
    std::string request(bytes->size(), '\0');
    if (!request.empty()) std::memcpy(request.data(), bytes->data(), request.size());
    if (request == "crash") ::raise(SIGSEGV);
    if (request == "exit") {
      std::puts("that was it");
      std::exit(3);
    }
    while (request == "hang") ::pause();
    if (request == "huge") {
      const std::uint64_t size = UINT64_MAX;
      [[maybe_unused]] const auto written = ::write(kServiceDescriptor, &size, sizeof size);
      ::pause();
    }
    if (request == "close") {
      ::close(kServiceDescriptor);
      ::pause();
    }
    if (request == "leave") {
      // Something lives on, with this end of the connection.
      if (::fork() == 0) ::pause();
      std::exit(4);
    }
    if (request == "sleeper") {
      // Tells its id, and then hangs.
      const pid_t sleeper = ::fork();
      if (sleeper == 0) ::pause();
      std::printf("%d\n", static_cast<int>(sleeper));
      std::fflush(stdout);
      while (true) ::pause();
    }
    if (request == "flood") {
      const std::string text(1 << 16, 'x');
      while (std::fputs(text.c_str(), stdout) >= 0) continue;
    }
    if (request == "colours") {
      std::fputs("\033[31mred\033[0m\n", stdout);
      std::exit(3);
    }
    if (request == "twice") {
      // In one piece, so that the second is there with the first.
      std::string both;
      for (int i = 0; i < 2; ++i) {
        const std::uint64_t size = request.size();
        both.append(reinterpret_cast<const char*>(&size), sizeof size).append(request);
      }
      [[maybe_unused]] const auto written = ::write(kServiceDescriptor, both.data(), both.size());
      continue;
    }
    if (request == "argument") request = argv[1];
    if (request == "inherited") {
      char text[16] = {};
      const auto read = ::pread(kServiceDescriptor + 1, text, sizeof text - 1, 0);
      request.assign(text, read < 0 ? 0 : static_cast<std::size_t>(read));
    }
    if (!socket.Send(std::as_bytes(std::span<const char>(request)))) return 1;
  }
  return 0;
}
