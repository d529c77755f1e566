#include "src/base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "src/base/errno_status.h"

namespace draftmark {

namespace {

// 0, or errno.
int Lock(int descriptor, int operation) {
  while (::flock(descriptor, operation | LOCK_NB) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

}  // namespace

StatusOr<FolderLock> FolderLock::Open(const std::string& folder) {
  FolderLock lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock.descriptor_ < 0) return ErrnoStatus(errno, "open", folder);
  return lock;
}

StatusOr<FolderLock> FolderLock::Take(const std::string& folder) {
  DM_ASSIGN_OR_RETURN(FolderLock lock, Open(folder));
  const int error = Lock(lock.descriptor_, LOCK_EX);
  if (error == 0) return lock;
  if (error == EWOULDBLOCK) {
    return UnavailableError(
        folder + ": another process is changing it, or checking it; try again when it is done");
  }
  return ErrnoStatus(error, "lock", folder);
}

StatusOr<FolderLock> FolderLock::TakeToRead(const std::string& folder) {
  DM_ASSIGN_OR_RETURN(FolderLock lock, Open(folder));
  if (Lock(lock.descriptor_, LOCK_SH) == EWOULDBLOCK) {
    return UnavailableError(folder + ": another process is changing it; try again when it is done");
  }
  return lock;
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace draftmark
