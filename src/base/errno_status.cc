#include "src/base/errno_status.h"

#include <fmt/format.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace draftmark {
namespace {

StatusCode CodeOf(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return StatusCode::kNotFound;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return StatusCode::kResourceExhausted;
    case EACCES:
    case EPERM:
    case EROFS:
      return StatusCode::kUnavailable;
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
      return StatusCode::kInvalidArgument;
    default:
      return StatusCode::kInternal;
  }
}

}  // namespace

Status ErrnoStatus(int error_number, std::string_view action, std::string_view path) {
  // generic_category, since strerror is not thread-safe.
  return Status(CodeOf(error_number), fmt::format("cannot {} {}: {}", action, path,
                                                  std::generic_category().message(error_number)));
}

}  // namespace draftmark
