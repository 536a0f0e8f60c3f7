#include "agent/life/lifetime.h"

#include <algorithm>
#include <utility>

namespace autodist::agent {

using base::Deadline;

void Lifetime::Renew() {
  const std::lock_guard lock(mutex_);
  claimed_ = true;
  SetExpires(by_receipts_ ? expires_ : Deadline::After(lease_));
}

void Lifetime::Received(Deadline::Clock::time_point sent) {
  const std::lock_guard lock(mutex_);
  const Deadline expires = Deadline::At(sent + lease_);
  SetExpires(std::exchange(by_receipts_, true) ? std::max(expires_, expires) : expires);
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
  SetExpires(by_receipts_ ? expires_ : Deadline::After(lease_));
}

void Lifetime::Suspend(std::chrono::milliseconds hold) {
  const std::lock_guard lock(mutex_);
  if (hold.count() == 0 && !suspended_) return;
  suspended_ = hold.count() > 0;
  MoveExpires(Deadline::After(hold + lease_));
}

void Lifetime::Shorten(std::chrono::milliseconds lease) {
  const std::lock_guard lock(mutex_);
  lease_ = std::min(lease_, lease);
  MoveExpires(std::min(expires_, Deadline::After(lease_)));
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
                          const std::function<void()>& waiting) {
  std::unique_lock lock(mutex_);
  while (!ended_ && !expired_at_ && !LeaseEnd().Expired()) {
    waiting();
    changed_.wait_until(lock, std::min(LeaseEnd(), Deadline::After(interval)).when());
  }
  std::exchange(on_lease_, [](Deadline) {})(Deadline::Never());
  return ended_;
}

Deadline Lifetime::expires() const {
  const std::lock_guard lock(mutex_);
  return expired_at_.value_or(LeaseEnd());
}

void Lifetime::SetExpires(Deadline expires) {
  MoveExpires(suspended_ ? std::max(expires_, expires) : expires);
}

void Lifetime::MoveExpires(Deadline expires) {
  expires_ = expires;
  on_lease_(LeaseEnd());
  changed_.notify_all();
}

Deadline Lifetime::LeaseEnd() const {
  return silence_expected_ && !by_receipts_ ? Deadline::Never() : expires_;
}

}  // namespace autodist::agent
