#include "agent/life/lifetime.h"

namespace autodist::agent {

using base::Deadline;

void Lifetime::Renew() {
  const std::lock_guard lock(mutex_);
  claimed_ = true;
  expires_ = Deadline::After(lease_);
}

void Lifetime::StarterGone() {
  {
    const std::lock_guard lock(mutex_);
    if (claimed_) return;
  }
  Expire();
}

void Lifetime::Hold(bool held) {
  const std::lock_guard lock(mutex_);
  preparing_ = held;
  expires_ = Deadline::After(lease_);
  changed_.notify_all();
}

void Lifetime::Pause(bool paused) {
  const std::lock_guard lock(mutex_);
  if (paused == paused_) return;
  paused_ = paused;
  expires_ = Deadline::After(lease_);
  changed_.notify_all();
}

void Lifetime::Expire() {
  const std::lock_guard lock(mutex_);
  if (!expired_at_) expired_at_ = Deadline::After(std::chrono::milliseconds(0));
  changed_.notify_all();
}

void Lifetime::End() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

bool Lifetime::WaitForEnd() {
  std::unique_lock lock(mutex_);
  while (!ended_ && !expired_at_ && (Held() || !expires_.Expired())) {
    changed_.wait_until(lock, (Held() ? Deadline::Never() : expires_).when());
  }
  return ended_;
}

void Lifetime::WaitForEnded() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_; });
}

Deadline Lifetime::expires() const {
  const std::lock_guard lock(mutex_);
  if (expired_at_) return *expired_at_;
  return Held() ? Deadline::Never() : expires_;
}

}  // namespace autodist::agent
