// FaultyFileSystem: another file system with one planted fault, for tests of what must survive it.
//
//   FaultyFileSystem faulty({.fail_append = 2});   // the third Append finds the disk full
//   EXPECT_THAT(writer.Write(path, faulty), StatusIs(StatusCode::kResourceExhausted, _));
//
// Counts are over all files of the object, from 0. Borrows the file system below, which must
// outlive it and its files. For one thread.
#ifndef DRAFTMARK_SRC_BASE_FAULTY_FILE_SYSTEM_H_
#define DRAFTMARK_SRC_BASE_FAULTY_FILE_SYSTEM_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/file_system.h"

namespace draftmark {

struct PlantedFault {
  std::optional<int> fail_append = std::nullopt;   // disk full, nothing of this call is written
  std::optional<int> short_append = std::nullopt;  // disk full after half of the bytes
  bool fail_commit = false;                        // the sync finds the disk full
  bool read_only = false;                          // no file can be created
  bool fail_map = false;                           // no file can be opened
};

class FaultyFileSystem : public FileSystem {
 public:
  explicit FaultyFileSystem(PlantedFault fault, FileSystem& below = RealFileSystem())
      : fault_(fault), below_(below) {}

  StatusOr<std::shared_ptr<const FileBytes>> Map(const std::string& path) override {
    if (fault_.fail_map) return UnavailableError("cannot open " + path + ": planted fault");
    return below_.Map(path);
  }
  StatusOr<std::unique_ptr<AtomicFile>> CreateAtomic(const std::string& path) override {
    if (fault_.read_only) {
      return UnavailableError("cannot create " + path + ": planted read-only file system");
    }
    DM_ASSIGN_OR_RETURN(std::unique_ptr<AtomicFile> file, below_.CreateAtomic(path));
    return std::unique_ptr<AtomicFile>(std::make_unique<File>(*this, path, std::move(file)));
  }
  Status CreateDirectories(const std::string& path) override {
    if (fault_.read_only) {
      return UnavailableError("cannot create " + path + ": planted read-only file system");
    }
    return below_.CreateDirectories(path);
  }
  bool IsFile(const std::string& path) override { return below_.IsFile(path); }
  bool IsDirectory(const std::string& path) override { return below_.IsDirectory(path); }
  StatusOr<std::vector<std::string>> List(const std::string& path) override {
    return below_.List(path);
  }

  // Calls of Append so far: where a loop over all places of a fault ends.
  int appends() const { return appends_; }

 private:
  class File : public AtomicFile {
   public:
    File(FaultyFileSystem& owner, std::string path, std::unique_ptr<AtomicFile> below)
        : owner_(owner), path_(std::move(path)), below_(std::move(below)) {}

    Status Append(std::span<const std::byte> bytes) override {
      DM_RETURN_IF_ERROR(status_);
      const int index = owner_.appends_++;
      if (index == owner_.fault_.fail_append) return status_ = DiskFull("write");
      if (index == owner_.fault_.short_append) {
        DM_RETURN_IF_ERROR(below_->Append(bytes.first(bytes.size() / 2)));
        return status_ = DiskFull("write");
      }
      return below_->Append(bytes);
    }
    Status Commit() override {
      DM_RETURN_IF_ERROR(status_);
      if (owner_.fault_.fail_commit) return status_ = DiskFull("sync");
      return below_->Commit();
    }

   private:
    Status DiskFull(const std::string& action) const {
      return ResourceExhaustedError("cannot " + action + " " + path_ + ": planted full disk");
    }

    FaultyFileSystem& owner_;
    const std::string path_;
    const std::unique_ptr<AtomicFile> below_;
    Status status_;
  };

  const PlantedFault fault_;
  FileSystem& below_;
  int appends_ = 0;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_FAULTY_FILE_SYSTEM_H_
