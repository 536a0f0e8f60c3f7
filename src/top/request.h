// A request to a job's autodist, made on its own thread.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/thread.h"

namespace autodist::top {

// One kind of request; `Answer` is a Status or a Result. Thread-safe except the destructor, which
// blocks until the request has returned.
template <typename Answer>
class Request {
 public:
  using Ask = std::function<Answer(const std::stop_token& stop)>;

  // `changed` is called on any thread when an answer arrives; must not block.
  Request(Ask ask, std::function<void()> changed)
      : ask_(std::move(ask)), changed_(std::move(changed)) {}

  // Does nothing while a request is under way.
  void Start() {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(asking_, true)) return;
    }
    auto thread = base::StartThread([this](const std::stop_token& stop) { Take(ask_(stop)); });
    if (!thread.ok()) return Take(thread.status());
    thread_ = *std::move(thread);
  }

  // Returns each answer once.
  std::optional<Answer> TakeAnswer() {
    const std::lock_guard lock(mutex_);
    return std::exchange(answer_, std::nullopt);
  }

 private:
  void Take(Answer answer) {
    {
      const std::lock_guard lock(mutex_);
      answer_ = std::move(answer);
      asking_ = false;
    }
    changed_();
  }

  const Ask ask_;
  const std::function<void()> changed_;
  std::mutex mutex_;  // guards the next two
  bool asking_ = false;
  std::optional<Answer> answer_;
  std::jthread thread_;  // last: uses the rest
};

}  // namespace autodist::top
