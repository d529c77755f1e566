// FolderLock: one process at a time changes what belongs together in a folder.
//
//   DM_ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(golden));
//   ... read the manifest, write files, write the manifest ...
//
// Without it two processes that each read, change and write a list lose what one of them has changed, and one that reads
// meanwhile sees some files old and some new. Advisory, on the folder itself: no file is made, and the system lets go when
// the process ends, however it ends. Errors: UNAVAILABLE when another process holds it, or another lock of this one; those
// of errno_status.h for the folder. Movable; the lock lives as long as the object. Linux flock; thread-safe.
#ifndef DRAFTMARK_SRC_BASE_FOLDER_LOCK_H_
#define DRAFTMARK_SRC_BASE_FOLDER_LOCK_H_

#include <string>
#include <utility>

#include "src/base/status.h"

namespace draftmark {

class FolderLock {
 public:
  // To change it. Does not wait.
  static StatusOr<FolderLock> Take(const std::string& folder);
  // To read it as a whole: any number of readers at once, and nobody who changes it. Does not wait. Where the file system
  // has no locks, reading goes on without.
  static StatusOr<FolderLock> TakeToRead(const std::string& folder);

  FolderLock(FolderLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  static StatusOr<FolderLock> Open(const std::string& folder);
  explicit FolderLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_FOLDER_LOCK_H_
