#include "launch/sync_stream.h"

#include "rpc/channel.h"

namespace autodist::launch {

SyncStream::SyncStream(v1::AgentService::Stub& agent, const std::stop_token& stop,
                       std::chrono::milliseconds stall_limit,
                       std::function<void(uint64_t bytes)> received)
    : stall_limit_(stall_limit),
      received_(std::move(received)),
      stop_(stop),
      cancel_(stop, [this] { context_.TryCancel(); }) {
  agent.async()->Sync(&context_, this);
  AddHold();  // Write is called from outside gRPC's calls to us
  StartRead(&incoming_);
  StartCall();
}

SyncStream::~SyncStream() {
  context_.TryCancel();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return status_.has_value(); });
}

// Until the condition holds, which it must once nothing is being read or written any more.
template <typename Condition>
void SyncStream::Await(std::unique_lock<std::mutex>& lock, Condition condition) {
  while (!condition()) {
    if (stalled_) {
      changed_.wait(lock);
    } else if (std::chrono::steady_clock::now() >= moved_ + stall_limit_) {
      stalled_ = true;
      context_.TryCancel();
    } else {
      changed_.wait_until(lock, moved_ + stall_limit_);
    }
  }
}

bool SyncStream::Write(const v1::SyncRequest& message) {
  std::unique_lock lock(mutex_);
  if (read_all_) return false;
  outgoing_ = message;
  moved_ = std::chrono::steady_clock::now();
  StartWrite(&*outgoing_);
  Await(lock, [this] { return !outgoing_; });
  return !read_all_;
}

std::optional<v1::SyncResponse> SyncStream::Read() {
  std::unique_lock lock(mutex_);
  moved_ = std::chrono::steady_clock::now();
  Await(lock, [this] { return !responses_.empty() || read_all_; });
  if (responses_.empty()) return std::nullopt;
  v1::SyncResponse response = std::move(responses_.front());
  responses_.pop_front();
  return response;
}

Status SyncStream::End() {
  std::unique_lock lock(mutex_);
  moved_ = std::chrono::steady_clock::now();
  Await(lock, [this] { return status_.has_value(); });
  if (finished_ && finished_->error().empty()) return OkStatus();
  if (finished_) {
    return WithRemedy(Error(StatusCode::kFailedPrecondition, finished_->error()),
                      finished_->remedy());
  }
  if (stop_.stop_requested()) return Error(StatusCode::kCancelled, "cancelled");
  if (stalled_) {
    return WithRemedy(
        Error(StatusCode::kDeadlineExceeded,
              "nothing moved for " + std::to_string(stall_limit_.count() / 1000) + " seconds"),
        "is the link to the node up, and its file system fast enough?");
  }
  if (status_->ok()) return Error(StatusCode::kUnavailable, "the agent left before the end");
  return Annotate(rpc::FromGrpc(*status_), "the connection with the agent broke");
}

void SyncStream::OnReadDone(bool ok) {
  {
    const std::lock_guard lock(mutex_);
    moved_ = std::chrono::steady_clock::now();
    if (!ok) {
      read_all_ = true;
    } else if (incoming_.has_finished()) {
      finished_ = std::move(*incoming_.mutable_finished());
    } else if (!incoming_.has_receipt()) {
      responses_.push_back(std::move(incoming_));
    }
    changed_.notify_all();
  }
  if (!ok) {
    RemoveHold();
    return;
  }
  if (incoming_.has_receipt()) received_(incoming_.receipt().bytes());
  StartRead(&incoming_);
}

void SyncStream::OnWriteDone(bool) {
  const std::lock_guard lock(mutex_);  // where it was not sent, the end of reading says so
  moved_ = std::chrono::steady_clock::now();
  outgoing_.reset();
  changed_.notify_all();
}

void SyncStream::OnDone(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  status_ = status;
  changed_.notify_all();
}

}  // namespace autodist::launch
