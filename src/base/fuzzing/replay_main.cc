// Runs a fuzz target on the files that it is given, without libFuzzer:  foo_fuzz FILE...
//
// Each file as it is, cut short at many places, and with single bytes changed: what a truncated copy or a bad
// disk makes of it. Ends with "N inputs". Exit code 2 without a file or with one that cannot be read.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "src/base/file_system.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace draftmark {
namespace {

// Bounds the time of a replay.
constexpr std::size_t kVariantsOfAFile = 48;

// In an allocation of exactly its size, so that a sanitizer sees a read past the end.
void Run(const std::string& text) {
  const auto bytes = std::make_unique<std::uint8_t[]>(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) bytes[i] = static_cast<std::uint8_t>(text[i]);
  LLVMFuzzerTestOneInput(bytes.get(), text.size());
}

std::size_t RunVariants(const std::string& text) {
  Run(text);
  std::size_t inputs = 1;
  const std::size_t stride = text.size() / kVariantsOfAFile + 1;
  for (std::size_t at = 0; at < text.size(); at += stride) {
    Run(text.substr(0, at));
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
    Run(changed);
    inputs += 2;
  }
  return inputs;
}

int Replay(int count, char** paths) {
  std::size_t inputs = 0;
  for (int i = 1; i < count; ++i) {
    const StatusOr<std::string> text = ReadTextFile(paths[i]);
    if (!text.ok()) {
      std::fprintf(stderr, "%s\n", text.status().ToString().c_str());
      return 2;
    }
    inputs += RunVariants(*text);
  }
  std::printf("%zu inputs\n", inputs);
  return inputs > 0 ? 0 : 2;
}

}  // namespace
}  // namespace draftmark

int main(int count, char** arguments) { return draftmark::Replay(count, arguments); }
