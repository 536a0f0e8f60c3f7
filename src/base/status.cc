#include "autodist/status.h"

#include <cerrno>
#include <ostream>
#include <system_error>

namespace autodist {
namespace {

StatusCode CodeOfErrno(int errno_value) {
  switch (errno_value) {
    case ENOENT:
    case ENOTDIR:
      return StatusCode::kNotFound;
    case EACCES:
    case EPERM:
      return StatusCode::kPermissionDenied;
    case EEXIST:
    case EADDRINUSE:
      return StatusCode::kAlreadyExists;
    case ETIMEDOUT:
      return StatusCode::kDeadlineExceeded;
    case ECANCELED:
      return StatusCode::kCancelled;
    case EINVAL:
      return StatusCode::kInvalidArgument;
    case ENOSPC:
    case EDQUOT:
      return StatusCode::kResourceExhausted;
    default:
      return StatusCode::kUnavailable;
  }
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const Status& status) {
  return stream << (status.ok() ? "success" : Message(status));
}

Status Error(StatusCode code, std::string_view message) { return Status(code, message); }

Status ErrnoError(int errno_value, std::string_view what) {
  Status status(CodeOfErrno(errno_value),
                std::string(what) + ": " + std::generic_category().message(errno_value));
  status.errno_ = errno_value;
  return status;
}

Status Annotate(const Status& status, std::string_view context) {
  Status annotated = status;
  if (!status.ok()) annotated.message_ = std::string(context) + ": " + status.message_;
  return annotated;
}

std::string Message(const Status& status) { return status.message_; }

Status WithRemedy(const Status& status, std::string_view remedy) {
  Status with = status;
  if (!status.ok() && !remedy.empty()) with.remedy_ = remedy;
  return with;
}

std::string Remedy(const Status& status) { return status.remedy_; }

}  // namespace autodist
