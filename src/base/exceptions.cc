#include "base/exceptions.h"

#include <mutex>
#include <utility>

namespace autodist::base {
namespace {

std::mutex handler_mutex;
ExceptionHandler handler;  // guarded by handler_mutex

}  // namespace

void SetExceptionHandler(ExceptionHandler to) {
  const std::lock_guard lock(handler_mutex);
  handler = std::move(to);
}

void HandleException() noexcept {
  const std::lock_guard lock(handler_mutex);
  if (!handler) std::terminate();
  handler(std::current_exception());
}

}  // namespace autodist::base
