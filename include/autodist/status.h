// Success, or a failure with a hint.
//
// Every operation that can fail for reasons outside of the program returns a Status, or a Result<T>
// if it has a value. The code is the kind of failure; the message is for users: what failed, where,
// and the system's reason.
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
  friend class ProofOfEnd;  // base/proof_of_end.h
  friend class NodeIsDown;  // base/node_is_down.h
  friend Status Annotate(const Status& status, std::string_view context);
  friend std::string Message(const Status& status);
  friend Status WithRemedy(const Status& status, std::string_view remedy);
  friend std::string Remedy(const Status& status);
  friend Status ErrnoError(int errno_value, std::string_view what);
  friend int ErrnoOf(const Status& status);

  StatusCode code_ = StatusCode::kOk;
  std::string message_;
  std::string remedy_;
  int errno_ = 0;
  bool proves_end_ = false;
  bool node_is_down_ = false;
};

std::ostream& operator<<(std::ostream& stream, const Status& status);

inline Status OkStatus() { return {}; }

// Creates a failure with this message.
Status Error(StatusCode code, std::string_view message);

// Creates "what: text of errno_value", with the code that matches the errno value.
Status ErrnoError(int errno_value, std::string_view what);

// Returns the errno value of an ErrnoError, also if it was annotated; 0: it is none.
inline int ErrnoOf(const Status& status) { return status.errno_; }

// Prepends "context: " to the message of a failure; success is unchanged.
Status Annotate(const Status& status, std::string_view context);

// Returns the message without the code.
std::string Message(const Status& status);

// Attaches a hint for the user, unless it is empty; Annotate preserves it.
Status WithRemedy(const Status& status, std::string_view remedy);

// Returns the attached hint, or "".
std::string Remedy(const Status& status);

// A T, or the reason why it is missing. Call ok() before accessing the value, as for std::optional.
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

// Returns from the enclosing function if `expression` is a failure.
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
