#include "src/base/memory_file_system.h"

#include <set>
#include <utility>

namespace draftmark {
namespace {

class Bytes : public FileBytes {
 public:
  explicit Bytes(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  std::span<const std::byte> bytes() const override { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

std::string FolderPrefix(std::string path) {
  if (!path.empty() && path.back() != '/') path += '/';
  return path;
}

}  // namespace

std::shared_ptr<const FileBytes> BytesInMemory(std::vector<std::byte> bytes) {
  return std::make_shared<const Bytes>(std::move(bytes));
}

class MemoryFileSystem::File : public AtomicFile {
 public:
  File(MemoryFileSystem& owner, std::string path) : owner_(owner), path_(std::move(path)) {}

  Status Append(std::span<const std::byte> bytes) override {
    if (committed_) return FailedPreconditionError(path_ + ": committed already");
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return OkStatus();
  }
  Status Commit() override {
    if (committed_) return FailedPreconditionError(path_ + ": committed already");
    committed_ = true;
    owner_.files_[path_] = BytesInMemory(std::move(bytes_));
    return OkStatus();
  }

 private:
  MemoryFileSystem& owner_;
  std::string path_;
  std::vector<std::byte> bytes_;
  bool committed_ = false;
};

StatusOr<std::shared_ptr<const FileBytes>> MemoryFileSystem::Map(const std::string& path) {
  const auto found = files_.find(path);
  if (found == files_.end()) return NotFoundError("cannot open " + path + ": no such file");
  return found->second;
}

StatusOr<std::unique_ptr<AtomicFile>> MemoryFileSystem::CreateAtomic(const std::string& path) {
  return std::unique_ptr<AtomicFile>(std::make_unique<File>(*this, path));
}

bool MemoryFileSystem::IsDirectory(const std::string& path) {
  const std::string prefix = FolderPrefix(path);
  const auto next = files_.lower_bound(prefix);
  return next != files_.end() && next->first.starts_with(prefix);
}

StatusOr<std::vector<std::string>> MemoryFileSystem::List(const std::string& path) {
  if (!IsDirectory(path)) return NotFoundError("cannot list " + path + ": no such folder");
  const std::string prefix = FolderPrefix(path);
  std::set<std::string> names;
  for (auto it = files_.lower_bound(prefix); it != files_.end() && it->first.starts_with(prefix);
       ++it) {
    const std::string rest = it->first.substr(prefix.size());
    names.insert(rest.substr(0, rest.find('/')));
  }
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace draftmark
