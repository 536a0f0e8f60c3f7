// What is asked of a job's autodist besides how it is, on a thread of its own.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/thread.h"

namespace autodist::top {

// Of one kind; `Answer` is a Status or a Result. Thread-safe but for the destructor, which blocks
// until what was asked has returned.
template <typename Answer>
class Request {
 public:
  using Ask = std::function<Answer(const std::stop_token& stop)>;

  // `changed` is called on any thread when there is an answer; must not block.
  Request(Ask ask, std::function<void()> changed)
      : ask_(std::move(ask)), changed_(std::move(changed)) {}

  // Nothing is done while the last one is on its way.
  void Start() {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(asking_, true)) return;
    }
    auto thread = base::StartThread([this](const std::stop_token& stop) { Take(ask_(stop)); });
    if (!thread.ok()) return Take(thread.status());
    thread_ = *std::move(thread);
  }

  // Each once.
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
