#include "transfer/fetch_stream.h"

#include <utility>

namespace autodist::transfer {

FetchStream::FetchStream(v1::AgentService::Stub& agent, const v1::FetchFilesRequest& request,
                         const std::stop_token& stop, std::chrono::milliseconds silence,
                         std::function<void()> hang_up)
    : CancellableCall(stop, silence, std::move(hang_up)), request_(request) {
  agent.async()->FetchFiles(&context_, &request_, this);
  AddHold();  // reads are started outside of gRPC's callbacks
  StartCall();
}

FetchStream::~FetchStream() {
  std::unique_lock lock(mutex_);
  if (!outcome_.ended() && !cancelled_) Cancel();
  while (!over_) Next(lock);
  Await(lock, [this] { return outcome_.ended(); });
}

// Waits for a message; returns whether there is one.
bool FetchStream::Next(std::unique_lock<std::mutex>& lock) {
  reading_ = true;
  moved_ = Clock::now();
  StartRead(&incoming_);
  Await(lock, [this] { return !reading_; });
  if (read_ok_) return true;
  over_ = true;
  lock.unlock();
  RemoveHold();
  lock.lock();
  return false;
}

std::optional<v1::FetchFilesResponse> FetchStream::Read() {
  std::unique_lock lock(mutex_);
  if (over_ || outcome_.rule_broken() || !Next(lock)) return std::nullopt;
  outcome_.BreakRule(rules_.Check(incoming_));
  if (outcome_.rule_broken()) return std::nullopt;
  const v1::FetchFinished& finished = incoming_.finished();
  if (incoming_.has_finished()) outcome_.Finish(finished.error(), finished.remedy());
  return std::move(incoming_);
}

void FetchStream::OnReadDone(bool ok) {
  const std::lock_guard lock(mutex_);
  reading_ = false;
  read_ok_ = ok;
  changed_.notify_all();
}

}  // namespace autodist::transfer
