#include "agent/life/lifetime.h"

#include <algorithm>
#include <utility>

namespace autodist::agent {

using base::Deadline;

void Lifetime::Renew() {
  const std::lock_guard lock(mutex_);
  claimed_ = true;
  if (!by_receipts_) SetExpires(Deadline::After(lease_));
}

void Lifetime::Received(Deadline::Clock::time_point sent) {
  const std::lock_guard lock(mutex_);
  const Deadline expires = Deadline::At(sent + lease_);
  if (!std::exchange(by_receipts_, true)) {
    SetExpires(expires);
    changed_.notify_all();
  }
  expires_ = std::max(expires_, expires);
}

void Lifetime::StarterGone() {
  {
    const std::lock_guard lock(mutex_);
    if (claimed_) return;
  }
  Expire();
}

void Lifetime::ExpectSilence(bool expected) {
  const std::lock_guard lock(mutex_);
  silence_expected_ = expected;
  if (!by_receipts_) SetExpires(Deadline::After(lease_));
  changed_.notify_all();
}

void Lifetime::Suspend(std::chrono::milliseconds hold) {
  const std::lock_guard lock(mutex_);
  if (hold.count() == 0 && !suspended_) return;
  suspended_ = hold.count() > 0;
  expires_ = Deadline::After(hold + lease_);
  changed_.notify_all();
}

void Lifetime::SetExpires(Deadline expires) {
  expires_ = suspended_ ? std::max(expires_, expires) : expires;
}

void Lifetime::Shorten(std::chrono::milliseconds lease) {
  const std::lock_guard lock(mutex_);
  lease_ = std::min(lease_, lease);
  expires_ = std::min(expires_, Deadline::After(lease_));
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

bool Lifetime::WaitForEnd(std::chrono::milliseconds interval,
                          const std::function<void(Deadline expires)>& waiting) {
  std::unique_lock lock(mutex_);
  while (!ended_ && !expired_at_ && (Held() || !expires_.Expired())) {
    waiting(Held() ? Deadline::Never() : expires_);
    const Deadline next = Deadline::After(interval);
    changed_.wait_until(lock, (Held() ? next : std::min(expires_, next)).when());
  }
  return ended_;
}

Deadline Lifetime::expires() const {
  const std::lock_guard lock(mutex_);
  if (expired_at_) return *expired_at_;
  return Held() ? Deadline::Never() : expires_;
}

}  // namespace autodist::agent
