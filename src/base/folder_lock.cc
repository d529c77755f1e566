#include "src/base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "src/base/errno_status.h"

namespace draftmark {

StatusOr<FolderLock> FolderLock::Take(const std::string& folder) {
  FolderLock lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock.descriptor_ < 0) return ErrnoStatus(errno, "open", folder);
  int result = 0;
  do {
    result = ::flock(lock.descriptor_, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return lock;
  if (errno == EWOULDBLOCK) {
    return UnavailableError(folder + ": another process is changing it; try again when it is done");
  }
  return ErrnoStatus(errno, "lock", folder);
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace draftmark
