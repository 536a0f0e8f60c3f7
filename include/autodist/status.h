// Success, or what failed and what to do about it.
//
// Every operation of ours that can fail for reasons outside the program returns a Status, or a
// Result<T> where it has a value to give. The code tells the kind, the message tells the user:
// what failed, where, and the cause as the system gave it.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <string_view>

namespace autodist {

using Status = absl::Status;
template <typename T>
using Result = absl::StatusOr<T>;
using StatusCode = absl::StatusCode;

inline Status OkStatus() { return absl::OkStatus(); }

// A failure with this message.
Status Error(StatusCode code, std::string_view message);

// "what: text of errno_value", with the code that fits the errno value.
Status ErrnoError(int errno_value, std::string_view what);

// Puts "context: " before the message of a failure; success stays as it is.
Status Annotate(const Status& status, std::string_view context);

// The message alone, without the code.
std::string Message(const Status& status);

// Attaches what the user can do about the failure; kept by Annotate.
Status WithRemedy(const Status& status, std::string_view remedy);

// The remedy attached before, or "".
std::string Remedy(const Status& status);

}  // namespace autodist

#define AD_CONCAT_INNER(a, b) a##b
#define AD_CONCAT(a, b) AD_CONCAT_INNER(a, b)

// Returns from the enclosing function with the failure that `expression` gives, if it gives one.
#define AD_RETURN_IF_ERROR(expression)                                 \
  do {                                                                 \
    if (auto ad_status = (expression); !ad_status.ok()) [[unlikely]] { \
      return ad_status;                                                \
    }                                                                  \
  } while (false)

// Declares or assigns `target` from a Result, or returns with its failure.
#define AD_ASSIGN_OR_RETURN(target, expression) \
  AD_ASSIGN_OR_RETURN_INNER(AD_CONCAT(ad_result_, __LINE__), target, expression)
#define AD_ASSIGN_OR_RETURN_INNER(result, target, expression) \
  auto result = (expression);                                 \
  if (!result.ok()) [[unlikely]] {                            \
    return result.status();                                   \
  }                                                           \
  target = std::move(result).value()
