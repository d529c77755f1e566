// The file system behind a small interface, so that faults (full disk, short write, read-only
// folder) can be tested.
//
//   // Small files:
//   DM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
//   // Large files, a read-only mapping:
//   DM_ASSIGN_OR_RETURN(const auto file, RealFileSystem().Map(path));
//   // Nothing visible before Commit():
//   DM_ASSIGN_OR_RETURN(const auto out, RealFileSystem().CreateAtomic(path));
//   DM_RETURN_IF_ERROR(out->Append(header));
//   DM_RETURN_IF_ERROR(out->Commit());
//
// Errors name the path and the system's reason. Codes as in errno_status.h; INVALID_ARGUMENT also
// for a device where a regular file is expected, to read or to write, and for a path that no system
// can hold.
//
// Implementations are thread-safe; one AtomicFile belongs to one thread.
#ifndef DRAFTMARK_SRC_BASE_FILE_SYSTEM_H_
#define DRAFTMARK_SRC_BASE_FILE_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace draftmark {

// The bytes of a file, unchanged for the lifetime of the object. The file must not be truncated
// meanwhile; files written by AtomicFile never are, since they are replaced and not rewritten.
class FileBytes {
 public:
  virtual ~FileBytes() = default;
  virtual std::span<const std::byte> bytes() const = 0;
};

// A file that appears under its final name only on Commit(), complete and synced; dropped
// otherwise. After the first error every later call fails with FAILED_PRECONDITION or the same
// error. A symbolic link under the final name is replaced, not followed.
class AtomicFile {
 public:
  virtual ~AtomicFile() = default;  // removes the temporary if Commit() did not succeed
  virtual Status Append(std::span<const std::byte> bytes) = 0;
  virtual Status Commit() = 0;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual StatusOr<std::shared_ptr<const FileBytes>> Map(const std::string& path) = 0;
  virtual StatusOr<std::unique_ptr<AtomicFile>> CreateAtomic(const std::string& path) = 0;
  // The folder and its parents, where they are not there yet.
  virtual Status CreateDirectories(const std::string& path) = 0;
  virtual bool IsFile(const std::string& path) = 0;
  virtual bool IsDirectory(const std::string& path) = 0;
  // Names (not paths) of a folder's entries in ascending byte order, without "." and "..".
  virtual StatusOr<std::vector<std::string>> List(const std::string& path) = 0;
};

// The operating system's. One object for the process, without state.
FileSystem& RealFileSystem();

// A whole file as text. Files above `max_bytes` are refused: configs are small, and a wrong path
// should not fill memory.
inline constexpr std::uint64_t kLargestTextFile = std::uint64_t{64} << 20;
StatusOr<std::string> ReadTextFile(const std::string& path,
                                   FileSystem& file_system = RealFileSystem(),
                                   std::uint64_t max_bytes = kLargestTextFile);
// Replaces `path` atomically.
Status WriteTextFile(const std::string& path, std::string_view text,
                     FileSystem& file_system = RealFileSystem());

// True for the name of a temporary that CreateAtomic made: what an interrupted program leaves behind.
bool IsTemporaryName(std::string_view name);

// "dir/name"; `dir` may be empty or end with a slash.
std::string JoinPath(std::string_view directory, std::string_view name);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_FILE_SYSTEM_H_
