// Success, or what failed and what to do about it.
//
// Every operation of ours that can fail for reasons outside the program returns a Status, or a
// Result<T> where it has a value to give. The code tells the kind, the message tells the user:
// what failed, where, and the cause as the system gave it.
#pragma once

#include <concepts>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace autodist {

// The kinds of failure, with gRPC's names and numbers.
enum class StatusCode {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

class [[nodiscard]] Status {
 public:
  Status() = default;  // success
  Status(StatusCode code, std::string_view message, std::string_view remedy = {})
      : code_(code), message_(message), remedy_(remedy) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  bool operator==(const Status& other) const = default;

 private:
  friend std::string Message(const Status& status);
  friend std::string Remedy(const Status& status);

  StatusCode code_ = StatusCode::kOk;
  std::string message_;
  std::string remedy_;
};

std::ostream& operator<<(std::ostream& stream, const Status& status);

inline Status OkStatus() { return {}; }

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

// A T, or why there is none. As with std::optional, who looks at the value has asked ok() before.
template <typename T>
class [[nodiscard]] Result : private std::optional<T> {
 public:
  template <std::convertible_to<T> U = T>
  Result(U found) : std::optional<T>(std::in_place, std::move(found)) {}
  Result(Status failure) : status_(std::move(failure)) {
    if (status_.ok()) status_ = Error(StatusCode::kInternal, "success without a value");
  }
  Result() : Result(Error(StatusCode::kUnknown, "nothing was tried yet")) {}

  bool ok() const { return this->has_value(); }
  const Status& status() const { return status_; }
  using std::optional<T>::operator*;
  using std::optional<T>::operator->;
  using std::optional<T>::value;
  using std::optional<T>::value_or;

 private:
  Status status_;
};

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
  target = *std::move(result)
