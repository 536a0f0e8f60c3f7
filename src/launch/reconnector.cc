#include "launch/reconnector.h"

#include <algorithm>
#include <utility>

#include "base/proof_of_end.h"
#include "base/thread.h"

namespace autodist::launch {

Result<std::unique_ptr<Reconnector>> Reconnector::Create(size_t max_threads) {
  std::unique_ptr<Reconnector> reconnector(new Reconnector(max_threads));
  AD_RETURN_IF_ERROR(reconnector->StartOne());
  return reconnector;
}

Status Reconnector::StartOne() {
  AD_ASSIGN_OR_RETURN(std::jthread thread, base::StartThread([this] { Run(); }));
  threads_.push_back(std::move(thread));
  return OkStatus();
}

void Reconnector::Start(Order order) {
  const auto pending = std::make_shared<Pending>(Pending{std::move(order)});
  size_t needed = 0;
  {
    const std::lock_guard lock(mutex_);
    pending_[pending->order.node] = pending;
    Enqueue(pending, Clock::now());
    needed = std::min(busy_ + queue_.size(), max_threads_);
  }
  // Without another thread the order waits for an existing one.
  if (threads_.size() < needed) (void)StartOne();
}

void Reconnector::Enqueue(const std::shared_ptr<Pending>& pending, Time until) {
  pending->place = queue_.emplace(until, pending);
  changed_.notify_one();
}

void Reconnector::GiveUp(uint32_t node) {
  std::shared_ptr<Pending> pending;
  {
    const std::lock_guard lock(mutex_);
    const auto found = pending_.find(node);
    if (found == pending_.end()) return;
    pending = found->second;
  }
  pending->stop.request_stop();
  const std::lock_guard lock(mutex_);
  if (!pending->place) return;
  queue_.erase(*pending->place);
  Enqueue(pending, Time::min());
}

Status Reconnector::LastFailure(uint32_t node) const {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(node);
  if (found == pending_.end() || !found->second->tried) return OkStatus();
  return found->second->last.status();
}

void Reconnector::GiveUpAll() {
  std::vector<uint32_t> nodes;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [node, pending] : pending_) nodes.push_back(node);
  }
  for (const uint32_t node : nodes) GiveUp(node);
}

void Reconnector::Stop() {
  GiveUpAll();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  threads_.clear();
}

void Reconnector::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (queue_.empty()) {
      if (stopping_) return;
      changed_.wait(lock);
      continue;
    }
    const auto next = queue_.begin();
    if (next->first > Clock::now()) {
      changed_.wait_until(lock, Time(next->first));
      continue;
    }
    const std::shared_ptr<Pending> pending = next->second;
    queue_.erase(next);
    pending->place.reset();
    ++busy_;
    lock.unlock();
    Advance(pending);
    lock.lock();
    --busy_;
  }
}

// Makes the next attempt.
void Reconnector::Advance(const std::shared_ptr<Pending>& pending) {
  Order& order = pending->order;
  if (const auto broken = std::exchange(order.broken, nullptr)) broken->EndSession();
  if (pending->stop.stop_requested()) return Finish(pending);
  if (order.wait.count() > 0) return Wait(pending, std::exchange(order.wait, {}));
  if (pending->tried && order.deadline.Expired()) return Finish(pending);
  Link link = order.try_once(pending->stop.get_token());
  const bool over = link.ok() || ProofOfEnd::In(link.status()) || order.deadline.Expired();
  {
    const std::lock_guard lock(mutex_);
    pending->tried = true;
    pending->last = std::move(link);
  }
  if (over) return Finish(pending);
  Wait(pending, pending->backoff.Next());
}

void Reconnector::Wait(const std::shared_ptr<Pending>& pending, std::chrono::milliseconds time) {
  const std::lock_guard lock(mutex_);
  // A later stop finds it in the queue.
  Enqueue(pending, pending->stop.stop_requested()
                       ? Time::min()
                       : std::min(Clock::now() + time, pending->order.deadline.when()));
}

void Reconnector::Finish(const std::shared_ptr<Pending>& pending) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = pending_.find(pending->order.node);
    if (found != pending_.end() && found->second == pending) pending_.erase(found);
  }
  pending->order.done(std::move(pending->last));
}

}  // namespace autodist::launch
