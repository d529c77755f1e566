#include "src/base/status.h"

#include "src/base/printable.h"

namespace draftmark {

std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "OK";
    case StatusCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case StatusCode::kNotFound:
      return "NOT_FOUND";
    case StatusCode::kDataLoss:
      return "DATA_LOSS";
    case StatusCode::kOutOfRange:
      return "OUT_OF_RANGE";
    case StatusCode::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case StatusCode::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case StatusCode::kUnimplemented:
      return "UNIMPLEMENTED";
    case StatusCode::kUnavailable:
      return "UNAVAILABLE";
    case StatusCode::kInternal:
      return "INTERNAL";
  }
  return "UNKNOWN";
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  return std::string(StatusCodeName(code_)) + ": " + message_;
}

Status Status::Annotated(std::string_view prefix) const {
  if (ok()) return *this;
  return Status(code_, WithoutControls(std::string(prefix) + ": ") + message_);
}

Status InvalidArgumentError(std::string message) {
  return Status(StatusCode::kInvalidArgument, WithoutControls(std::move(message)));
}
Status NotFoundError(std::string message) {
  return Status(StatusCode::kNotFound, WithoutControls(std::move(message)));
}
Status DataLossError(std::string message) {
  return Status(StatusCode::kDataLoss, WithoutControls(std::move(message)));
}
Status OutOfRangeError(std::string message) {
  return Status(StatusCode::kOutOfRange, WithoutControls(std::move(message)));
}
Status ResourceExhaustedError(std::string message) {
  return Status(StatusCode::kResourceExhausted, WithoutControls(std::move(message)));
}
Status FailedPreconditionError(std::string message) {
  return Status(StatusCode::kFailedPrecondition, WithoutControls(std::move(message)));
}
Status UnimplementedError(std::string message) {
  return Status(StatusCode::kUnimplemented, WithoutControls(std::move(message)));
}
Status UnavailableError(std::string message) {
  return Status(StatusCode::kUnavailable, WithoutControls(std::move(message)));
}
Status InternalError(std::string message) {
  return Status(StatusCode::kInternal, WithoutControls(std::move(message)));
}

}  // namespace draftmark
