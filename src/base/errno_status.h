// ErrnoStatus: an errno value as a Status whose message names the action, the path and the system's
// reason.
//
//   if (::fsync(fd) != 0) return ErrnoStatus(errno, "sync", path);
//     -> "UNAVAILABLE: cannot sync /x/y: Permission denied"
//
// Codes:
//   NOT_FOUND            no such file or folder
//   RESOURCE_EXHAUSTED   disk, quota, file size, memory or descriptors used up
//   UNAVAILABLE          permissions, read-only file system
//   INVALID_ARGUMENT     a folder where a file is expected, a name that is too long
//   INTERNAL             the rest
//
// Thread-safe.
#ifndef DRAFTMARK_SRC_BASE_ERRNO_STATUS_H_
#define DRAFTMARK_SRC_BASE_ERRNO_STATUS_H_

#include <string_view>

#include "src/base/status.h"

namespace draftmark {

Status ErrnoStatus(int error_number, std::string_view action, std::string_view path);

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_ERRNO_STATUS_H_
