// For tests: safetensors files as bytes, malformed ones with the message they must give, and odd
// but legal ones.
#ifndef DRAFTMARK_SRC_TENSOR_SAFETENSORS_SAMPLES_H_
#define DRAFTMARK_SRC_TENSOR_SAFETENSORS_SAMPLES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/file_system.h"

namespace draftmark {

struct SampleFile {
  std::string name;  // usable as a file name
  std::string bytes;
  std::string message;  // what follows "PATH: "; empty for legal files
  // The reference library takes a file that we refuse; see the top of safetensors.h.
  bool reference_accepts = false;
};

std::vector<SampleFile> MalformedSafetensors();
std::vector<SampleFile> OddSafetensors();

// A file of length, header and data; `length` defaults to the header's.
std::string SafetensorsBytes(std::string_view header, std::string_view data = "");
std::string SafetensorsBytesWithLength(std::uint64_t length, std::string_view header,
                                       std::string_view data = "");
// `"name":{"dtype":...}` with the arguments as they are: the shape and the offsets without
// brackets.
std::string EntryJson(std::string_view name, std::string_view dtype, std::string_view shape,
                      std::string_view offsets);

// Bytes in memory, in an allocation of exactly their size, so that a sanitizer sees a read past the
// end.
class MemoryFile : public FileBytes {
 public:
  explicit MemoryFile(std::string_view text)
      : bytes_(reinterpret_cast<const std::byte*>(text.data()),
               reinterpret_cast<const std::byte*>(text.data()) + text.size()) {}
  std::span<const std::byte> bytes() const override { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_TENSOR_SAFETENSORS_SAMPLES_H_
