// MemoryFileSystem: files that live in memory. For data that are generated on the fly and read as
// files, and for tests.
//
//   MemoryFileSystem files;
//   DM_RETURN_IF_ERROR(writer.Write("case/model.safetensors", files));
//   DM_ASSIGN_OR_RETURN(const Checkpoint c, Checkpoint::Open("case/model.safetensors", files));
//
// Folders are the prefixes of file names. Mapped bytes stay valid after the file is replaced or the
// file system is gone. For one thread.
#ifndef DRAFTMARK_SRC_BASE_MEMORY_FILE_SYSTEM_H_
#define DRAFTMARK_SRC_BASE_MEMORY_FILE_SYSTEM_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/base/file_system.h"

namespace draftmark {

// Bytes that belong to the object, as those of a mapped file.
std::shared_ptr<const FileBytes> BytesInMemory(std::vector<std::byte> bytes);

class MemoryFileSystem : public FileSystem {
 public:
  StatusOr<std::shared_ptr<const FileBytes>> Map(const std::string& path) override;
  StatusOr<std::unique_ptr<AtomicFile>> CreateAtomic(const std::string& path) override;
  // Folders come and go with their files.
  Status CreateDirectories(const std::string&) override { return OkStatus(); }
  bool IsFile(const std::string& path) override { return files_.contains(path); }
  bool IsDirectory(const std::string& path) override;
  StatusOr<std::vector<std::string>> List(const std::string& path) override;

 private:
  class File;

  std::map<std::string, std::shared_ptr<const FileBytes>> files_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_MEMORY_FILE_SYSTEM_H_
