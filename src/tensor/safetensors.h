// Reading and writing files of the safetensors format, version as of its package 0.8.0 (an 8-byte
// little-endian header length, a JSON header, the data).
//
//   DM_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open("model.safetensors"));
//   DM_ASSIGN_OR_RETURN(const TensorView fc, file.Get("fc.weight", DType::kBF16, {h, taps * h}));
//
// Reading maps the file and checks everything before the first byte of data is used:
//   - the header's length (limit 100 MB), its JSON (duplicate keys refused)
//   - dtypes and shape products
//   - offsets inside the file, no holes, no overlaps, no bytes after the last tensor
// Errors are DATA_LOSS and name file, tensor, expected and found. Views stay valid as long as the
// file object or a copy of it lives; the object is immutable and may be read by several threads.
//
// Stricter than the reference library: it takes an entry with unknown keys, and of a key given
// twice the last one; both are refused here, since they hide a mistake or an attack.
//
// Writing is atomic (temporary, then rename) and deterministic: same tensors and metadata, same
// bytes.
#ifndef DRAFTMARK_SRC_TENSOR_SAFETENSORS_H_
#define DRAFTMARK_SRC_TENSOR_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/file_system.h"
#include "src/base/status.h"
#include "src/tensor/dtype.h"
#include "src/tensor/tensor_view.h"

namespace draftmark {

inline constexpr std::uint64_t kLargestSafetensorsHeader =
    100'000'000;  // bytes; the limit of the reference library

class SafetensorsFile {
 public:
  static StatusOr<SafetensorsFile> Open(const std::string& path,
                                        FileSystem& file_system = RealFileSystem());
  // The same for bytes that are in memory already; `path` is their name for messages.
  static StatusOr<SafetensorsFile> FromBytes(std::string path,
                                             std::shared_ptr<const FileBytes> bytes);

  // All tensor names in ascending byte order.
  const std::vector<std::string>& names() const { return names_; }
  bool Has(std::string_view name) const { return tensors_.find(name) != tensors_.end(); }
  // NOT_FOUND names file and tensor.
  StatusOr<TensorView> Get(std::string_view name) const;
  // INVALID_ARGUMENT if dtype or shape differ: expected and found are in the message.
  StatusOr<TensorView> Get(std::string_view name, DType dtype, const Shape& shape) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::shared_ptr<const FileBytes> bytes_;
  std::vector<std::string> names_;
  std::map<std::string, TensorView, std::less<>> tensors_;
  std::map<std::string, std::string> metadata_;
};

// A checkpoint of one or several files: a .safetensors file, a model.safetensors.index.json, or a
// folder that holds either (the index wins; without model.safetensors, the only .safetensors file
// there). Every tensor the index names must be in the shard it names, and no tensor in two shards;
// tensors that the index does not name are no part of the checkpoint. Immutable but for Adopt; may be
// read by several threads.
class Checkpoint {
 public:
  static StatusOr<Checkpoint> Open(const std::string& path,
                                   FileSystem& file_system = RealFileSystem());

  // Takes a tensor of another checkpoint in under the name `as`: a drafter reads the embedding and
  // the LM head of its target. The other's file stays open as long as this object lives. NOT_FOUND
  // if `other` lacks it, INVALID_ARGUMENT if the name is taken here.
  Status Adopt(const Checkpoint& other, const std::string& tensor, const std::string& as);

  // All tensor names in ascending byte order.
  const std::vector<std::string>& names() const { return names_; }
  bool Has(std::string_view name) const { return where_.find(name) != where_.end(); }
  StatusOr<TensorView> Get(std::string_view name) const;
  StatusOr<TensorView> Get(std::string_view name, DType dtype, const Shape& shape) const;
  const std::string& path() const { return path_; }
  // In the order of their file names; a single file is one shard.
  const std::vector<SafetensorsFile>& shards() const { return shards_; }

 private:
  static StatusOr<Checkpoint> OpenIndex(const std::string& path, FileSystem& file_system);
  Status AddShard(SafetensorsFile shard);

  std::string path_;
  std::vector<SafetensorsFile> shards_;
  std::vector<std::string> names_;
  struct Place {
    std::size_t shard;  // index into shards_
    std::string name;   // there
  };
  std::map<std::string, Place, std::less<>> where_;
};

// Collects tensors and writes them in one go. The views must stay valid until Write returns. Not
// thread-safe.
class SafetensorsWriter {
 public:
  // INVALID_ARGUMENT for a name given twice, the name "__metadata__", a name that is not UTF-8, or
  // bytes that do not match dtype and shape.
  Status Add(std::string name, TensorView view);
  // Replaces an earlier value of the same key. Text that is not UTF-8 is an error of Write.
  void SetMetadata(std::string key, std::string value);
  // Tensors are laid out by descending alignment of dtype, then name, as the reference library
  // does; metadata is sorted by key, which the reference library leaves to chance.
  Status Write(const std::string& path, FileSystem& file_system = RealFileSystem()) const;

 private:
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_TENSOR_SAFETENSORS_H_
