// Hostile safetensors files. An input that begins with '{' is a header up to its first NUL and the data behind it,
// to which the length is added here, so that mutations reach what lies behind it; any other is a file as it is.
//
// Of a file that is taken every view lies inside it, as long as dtype and shape say, and what is written of it again
// reads back as the same.
#include <cstring>
#include <memory>

#include "src/base/fuzzing/fuzz_expect.h"
#include "src/base/memory_file_system.h"
#include "src/tensor/safetensors.h"
#include "src/tensor/safetensors_samples.h"

namespace draftmark {
namespace {

std::string FileOf(std::string_view text) {
  if (!text.starts_with('{')) return std::string(text);
  const std::size_t end = text.find('\0');
  return SafetensorsBytes(text.substr(0, end),
                          end == std::string_view::npos ? "" : text.substr(end + 1));
}

bool SameBytes(const TensorView& a, const TensorView& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.bytes.size() == b.bytes.size() &&
         (a.bytes.empty() || std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0);
}

void CheckTaken(const SafetensorsFile& file, std::span<const std::byte> bytes) {
  SafetensorsWriter writer;
  for (const std::string& name : file.names()) {
    const TensorView view = file.Get(name).value();
    DM_CHECK(view.bytes.data() >= bytes.data() &&
             view.bytes.data() + view.bytes.size() <= bytes.data() + bytes.size());
    DM_CHECK(TensorBytes(view.dtype, view.shape).value() == view.bytes.size());
    DM_CHECK(file.Get(name, view.dtype, view.shape).ok());
    DM_CHECK(writer.Add(name, view).ok());
  }
  for (const auto& [key, value] : file.metadata()) writer.SetMetadata(key, value);
  MemoryFileSystem files;
  DM_CHECK(writer.Write("again", files).ok());
  const SafetensorsFile again = SafetensorsFile::Open("again", files).value();
  DM_CHECK(again.names() == file.names() && again.metadata() == file.metadata());
  for (const std::string& name : file.names()) {
    DM_CHECK(SameBytes(file.Get(name).value(), again.Get(name).value()));
  }
}

}  // namespace
}  // namespace draftmark

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace draftmark;
  const auto memory = std::make_shared<MemoryFile>(FileOf(TextOf(data, size)));
  const StatusOr<SafetensorsFile> file = SafetensorsFile::FromBytes("f", memory);
  if (!file.ok()) return ExpectRefusal(file.status(), "f: ", {StatusCode::kDataLoss});
  CheckTaken(*file, memory->bytes());
  return 0;
}
