// Exceptions that nothing else catches: in a thread they would end this process, and in a callback
// gRPC would swallow them.
#pragma once

#include <exception>
#include <functional>

namespace autodist::base {

using ExceptionHandler = std::function<void(std::exception_ptr thrown)>;

// Sets the handler, which is called on the throwing thread and must not block. Null, as at first:
// exceptions end this process. Thread-safe.
void SetExceptionHandler(ExceptionHandler handler);

// Passes the exception that is being handled to the handler.
void HandleException() noexcept;

// Calls the function, and passes its exception to the handler.
template <typename Function>
void HandlingExceptions(Function&& function) noexcept {
  try {
    function();
  } catch (const std::exception&) {
    HandleException();
  }
}

}  // namespace autodist::base
