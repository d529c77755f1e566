// WriteFully: all bytes through a write() that may take fewer than asked or be interrupted.
//
//   DM_RETURN_IF_ERROR(WriteFully(bytes, path, [fd](const std::byte* data, std::size_t size) {
//     return ::write(fd, data, size);
//   }));
//
// `write` follows write(2): the number of bytes taken, or -1 with errno set. Apart from files so
// that short writes and EINTR can be tested. Errors as ErrnoStatus.
#ifndef DRAFTMARK_SRC_BASE_WRITE_FULLY_H_
#define DRAFTMARK_SRC_BASE_WRITE_FULLY_H_

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string_view>

#include "src/base/errno_status.h"
#include "src/base/status.h"

namespace draftmark {

// Linux takes at most 0x7ffff000 bytes in one call anyway; 1 GiB keeps the count inside ssize_t
// everywhere.
inline constexpr std::size_t kLargestWrite = std::size_t{1} << 30;

template <typename Write>
Status WriteFully(std::span<const std::byte> bytes, std::string_view path, Write&& write) {
  while (!bytes.empty()) {
    const auto taken = write(bytes.data(), std::min(bytes.size(), kLargestWrite));
    if (taken < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, "write", path);
    }
    // write(2) does not return 0 for a regular file and a positive count; repeating could hang.
    if (taken == 0) return ErrnoStatus(EIO, "write", path);
    bytes = bytes.subspan(static_cast<std::size_t>(taken));
  }
  return OkStatus();
}

}  // namespace draftmark

#endif  // DRAFTMARK_SRC_BASE_WRITE_FULLY_H_
