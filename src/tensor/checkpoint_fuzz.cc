// Hostile checkpoints of several files: an index and its shards. An input is the index, then for each shard a name,
// a header and data, all parted by the byte 0x1E, which no JSON holds.
//
// Of a checkpoint that is taken every tensor is in one shard that lies beside the index.
#include <algorithm>

#include "src/base/fuzzing/fuzz_expect.h"
#include "src/base/memory_file_system.h"
#include "src/tensor/safetensors.h"
#include "src/tensor/safetensors_samples.h"

namespace draftmark {
namespace {

constexpr char kSeparator = 0x1e;
constexpr char kIndex[] = "c/model.safetensors.index.json";

void CheckTaken(const Checkpoint& checkpoint) {
  DM_CHECK(!checkpoint.names().empty());
  DM_CHECK(std::is_sorted(checkpoint.names().begin(), checkpoint.names().end()));
  for (const SafetensorsFile& shard : checkpoint.shards()) {
    DM_CHECK(shard.path().starts_with("c/") && shard.path().find('/', 2) == std::string::npos);
  }
  for (const std::string& name : checkpoint.names()) {
    const TensorView view = checkpoint.Get(name).value();
    DM_CHECK(checkpoint.Has(name) && checkpoint.Get(name, view.dtype, view.shape).ok());
    const auto& shards = checkpoint.shards();
    DM_CHECK(std::count_if(shards.begin(), shards.end(),
                           [&](const SafetensorsFile& shard) { return shard.Has(name); }) == 1);
  }
}

}  // namespace
}  // namespace draftmark

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace draftmark;
  FuzzBytes bytes(TextOf(data, size));
  MemoryFileSystem files;
  DM_CHECK(WriteTextFile(kIndex, bytes.Until(kSeparator), files).ok());
  while (!bytes.empty()) {
    const std::string name = bytes.Until(kSeparator);
    const std::string header = bytes.Until(kSeparator);
    const std::string file = SafetensorsBytes(header, bytes.Until(kSeparator));
    // A name that no file can have is none of the memory's either.
    if (name.find('/') == std::string::npos) {
      (void)WriteTextFile(JoinPath("c", name), file, files);
    }
  }
  const StatusOr<Checkpoint> checkpoint = Checkpoint::Open("c", files);
  if (checkpoint.ok()) {
    CheckTaken(*checkpoint);
    return 0;
  }
  return ExpectRefusal(
      checkpoint.status(), "c/",
      {StatusCode::kDataLoss, StatusCode::kNotFound, StatusCode::kInvalidArgument});
}
