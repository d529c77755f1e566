// Status and StatusOr: errors as values across library borders.
//
//   StatusOr<Config> LoadConfig(const std::string& path);
//   DM_ASSIGN_OR_RETURN(const Config config, LoadConfig(path));
//   DM_RETURN_IF_ERROR(config.Validate());
//
// A Status carries a code (what kind of failure) and one message for a person: file, field or
// tensor, expected, found. Both types own their contents, can be copied and moved, and are as
// thread-safe as std::string. Names follow absl::Status, so that an engine that uses Abseil feels
// at home. Exceptions do not cross library borders.
#ifndef DRAFTMARK_SRC_BASE_STATUS_H_
#define DRAFTMARK_SRC_BASE_STATUS_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/check.h"

namespace draftmark {

enum class StatusCode {
  kOk,
  kInvalidArgument,     // the caller's arguments or a config contradict the rules
  kNotFound,            // a file, key or tensor is absent
  kDataLoss,            // a file is truncated, malformed or does not match its checksum
  kOutOfRange,          // arithmetic would overflow, an index is outside its range
  kResourceExhausted,   // memory or disk is used up
  kFailedPrecondition,  // the object is not in the state that the call needs
  kUnimplemented,       // understood, but not supported here
  kUnavailable,         // something of the environment is missing: GPU, driver, library
  kInternal,            // a bug, or an unexpected answer of the operating system
};

// "INVALID_ARGUMENT" and so on.
std::string_view StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  // Control characters of the message are escaped, line ends stay: it may quote a file, or name
  // one.
  Status(StatusCode code, std::string message);

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  // "OK", or "INVALID_ARGUMENT: message".
  std::string ToString() const;
  // The same code with "prefix: " before the message; OK stays OK.
  Status Annotated(std::string_view prefix) const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status OkStatus() { return Status(); }
Status InvalidArgumentError(std::string message);
Status NotFoundError(std::string message);
Status DataLossError(std::string message);
Status OutOfRangeError(std::string message);
Status ResourceExhaustedError(std::string message);
Status FailedPreconditionError(std::string message);
Status UnimplementedError(std::string message);
Status UnavailableError(std::string message);
Status InternalError(std::string message);

// Either a value or a non-OK Status. Reading the value of a failed one is a bug and ends the
// process.
template <typename T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    DM_CHECK(!status_.ok());
  }
  StatusOr(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  const T& value() const& {
    DM_CHECK(ok());
    return *value_;
  }
  T& value() & {
    DM_CHECK(ok());
    return *value_;
  }
  T&& value() && {
    DM_CHECK(ok());
    return *std::move(value_);
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace draftmark

#define DM_CONCAT_INNER(a, b) a##b
#define DM_CONCAT(a, b) DM_CONCAT_INNER(a, b)

// Returns the Status of `expr` from the calling function if it is not OK.
#define DM_RETURN_IF_ERROR(expr)                                   \
  do {                                                             \
    if (::draftmark::Status dm_status = (expr); !dm_status.ok()) { \
      return dm_status;                                            \
    }                                                              \
  } while (false)

// Assigns the value of a StatusOr to `lhs` (which may declare a variable), or returns its Status.
#define DM_ASSIGN_OR_RETURN(lhs, expr) \
  DM_ASSIGN_OR_RETURN_IMPL(DM_CONCAT(dm_status_or_, __LINE__), lhs, expr)
#define DM_ASSIGN_OR_RETURN_IMPL(temporary, lhs, expr) \
  auto temporary = (expr);                             \
  if (!temporary.ok()) return temporary.status();      \
  lhs = std::move(temporary).value()

#endif  // DRAFTMARK_SRC_BASE_STATUS_H_
