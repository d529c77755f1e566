// Hostile manifests of a golden set. One that is taken names only files below its folder, ascending, and what is
// written of it reads back as the same.
#include "conformance/golden/manifest.h"
#include "src/base/fuzzing/fuzz_expect.h"
#include "src/base/memory_file_system.h"

namespace draftmark {
namespace {

StatusOr<Manifest> Read(std::string_view text) {
  MemoryFileSystem files;
  DM_CHECK(WriteTextFile("g/manifest.json", text, files).ok());
  return LoadManifest("g", files);
}

}  // namespace
}  // namespace draftmark

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace draftmark;
  const StatusOr<Manifest> manifest = Read(TextOf(data, size));
  if (!manifest.ok()) {
    return ExpectRefusal(
        manifest.status(), "g/manifest.json: ",
        {StatusCode::kNotFound, StatusCode::kInvalidArgument, StatusCode::kDataLoss});
  }
  std::string before;
  for (const ManifestEntry& entry : manifest->files) {
    DM_CHECK(entry.path > before && entry.path[0] != '/');
    DM_CHECK(("/" + entry.path + "/").find("/../") == std::string::npos);
    before = entry.path;
  }
  const std::string text = manifest->ToText();
  DM_CHECK(Read(text).value().ToText() == text);
  return 0;
}
