#include "transfer/sync_stream.h"

#include <utility>

namespace autodist::transfer {

SyncStream::SyncStream(v1::AgentService::Stub& agent, const SyncRules& rules,
                       const std::stop_token& stop, std::chrono::milliseconds stall_limit,
                       std::function<void()> hang_up, std::function<void(uint64_t bytes)> received)
    : CancellableCall(stop, stall_limit, std::move(hang_up)),
      rules_(rules),
      received_(std::move(received)) {
  agent.async()->Sync(&context_, this);
  AddHold();  // Write is called from outside of gRPC's callbacks
  StartRead(&incoming_);
  StartCall();
}

SyncStream::~SyncStream() {
  std::unique_lock lock(mutex_);
  if (!outcome_.ended() && !cancelled_) Cancel();
  Await(lock, [this] { return outcome_.ended(); });
}

bool SyncStream::Write(const v1::SyncRequest& message) {
  std::unique_lock lock(mutex_);
  if (read_all_) return false;
  writing_ = true;
  moved_ = Clock::now();
  StartWrite(&message);
  Await(lock, [this] { return !writing_; });
  return !read_all_;
}

std::optional<v1::SyncResponse> SyncStream::Read() {
  std::unique_lock lock(mutex_);
  moved_ = Clock::now();
  Await(lock, [this] { return !responses_.empty() || read_all_; });
  if (responses_.empty()) return std::nullopt;
  v1::SyncResponse response = std::move(responses_.front());
  responses_.pop_front();
  return response;
}

void SyncStream::OnReadDone(bool ok) {
  {
    const std::lock_guard lock(mutex_);
    moved_ = Clock::now();
    const Status allowed = ok ? rules_.Check(incoming_) : OkStatus();
    if (!allowed.ok() && !outcome_.rule_broken()) {
      outcome_.BreakRule(allowed);
      if (!cancelled_) Cancel();
    }
    if (!ok) {
      read_all_ = true;
    } else if (outcome_.rule_broken()) {
      incoming_.Clear();  // ignored
    } else if (incoming_.has_finished()) {
      outcome_.Finish(incoming_.finished().error(), incoming_.finished().remedy());
    } else if (!incoming_.has_bytes_written()) {
      responses_.push_back(std::move(incoming_));
    }
    changed_.notify_all();
  }
  if (!ok) {
    RemoveHold();
    return;
  }
  if (incoming_.has_bytes_written()) received_(incoming_.bytes_written().bytes());
  StartRead(&incoming_);
}

void SyncStream::OnWriteDone(bool) {
  const std::lock_guard lock(mutex_);  // a failed write is reported by the end of reading
  moved_ = Clock::now();
  writing_ = false;
  changed_.notify_all();
}

}  // namespace autodist::transfer
