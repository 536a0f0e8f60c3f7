#include "autodist/status.h"

#include <absl/strings/cord.h>

#include <cerrno>
#include <system_error>

namespace autodist {
namespace {

constexpr char kRemedyUrl[] = "autodist/remedy";

absl::string_view AbslView(std::string_view text) { return {text.data(), text.size()}; }

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
    default:
      return StatusCode::kUnavailable;
  }
}

}  // namespace

Status Error(StatusCode code, std::string_view message) { return Status(code, AbslView(message)); }

Status ErrnoError(int errno_value, std::string_view what) {
  return Error(CodeOfErrno(errno_value),
               std::string(what) + ": " + std::generic_category().message(errno_value));
}

Status Annotate(const Status& status, std::string_view context) {
  if (status.ok()) return status;
  const Status annotated = Error(status.code(), std::string(context) + ": " + Message(status));
  const std::string remedy = Remedy(status);
  return remedy.empty() ? annotated : WithRemedy(annotated, remedy);
}

std::string Message(const Status& status) {
  return std::string(status.message().data(), status.message().size());
}

Status WithRemedy(const Status& status, std::string_view remedy) {
  Status with = status;
  if (!with.ok()) with.SetPayload(kRemedyUrl, absl::Cord(AbslView(remedy)));
  return with;
}

std::string Remedy(const Status& status) {
  const auto payload = status.GetPayload(kRemedyUrl);
  return payload ? std::string(*payload) : std::string();
}

}  // namespace autodist
