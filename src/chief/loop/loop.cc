#include "chief/loop/loop.h"

#include <algorithm>
#include <utility>

#include "base/thread.h"

namespace autodist::chief {
namespace {

constexpr std::chrono::seconds kLongPause{5};

}  // namespace

void Loop::Post(Task task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  posted_.notify_one();
}

void Loop::PostUrgent(Task task) {
  const std::lock_guard lock(mutex_);
  first_.push_back(std::move(task));
  posted_.notify_one();
}

Status Loop::RunDetached(Task task) {
  auto thread = base::StartThread(std::move(task));
  if (thread.ok()) thread->detach();
  return thread.status();
}

bool Loop::Empty() const {
  const std::lock_guard lock(mutex_);
  return first_.empty() && tasks_.empty();
}

std::optional<Loop::Task> Loop::Take(Time limit) {
  std::unique_lock lock(mutex_);
  const auto posted = [this] { return !first_.empty() || !tasks_.empty(); };
  if (!posted_.wait_until(lock, limit, posted)) return std::nullopt;
  std::deque<Task>& from = first_.empty() ? tasks_ : first_;
  Task task = std::move(from.front());
  from.pop_front();
  return task;
}

Loop::Time Loop::NoticePause() {
  const Time now = Now();
  if (now > awake_by_ && now - awake_by_ > kLongPause) Resumed();
  return awake_by_ = now;
}

bool Loop::RunUntil(const std::function<bool()>& done, Time limit) {
  std::optional<Time> looked;  // the last check of the timers
  for (;;) {
    const Time now = NoticePause();
    if (done()) return true;
    if (now >= limit) return false;
    Time next = limit;
    if (!looked || Empty() || now - *looked >= kMaxDelay) {
      looked = now;
      for (auto& due : due_) {
        auto timer = std::exchange(due, [] { return Time::max(); });
        next = std::min(next, timer());
        due = std::move(timer);
      }
      if (done()) return true;
      awake_by_ = next;
    }
    if (const auto task = Take(next)) {
      NoticePause();
      (*task)();
    }
  }
}

}  // namespace autodist::chief
