#include "transfer/sync_stream.h"

#include "rpc/channel.h"

namespace autodist::transfer {

namespace {

// How long a call that has been cancelled may take to end: gRPC first finishes the write that it
// has begun, which a connection that takes nothing does not let it.
constexpr std::chrono::milliseconds kCancelLimit{1000};

}  // namespace

SyncStream::SyncStream(v1::AgentService::Stub& agent, const SyncRules& rules,
                       const std::stop_token& stop, std::chrono::milliseconds stall_limit,
                       std::function<void()> hang_up, std::function<void(uint64_t bytes)> received)
    : rules_(rules),
      stall_limit_(stall_limit),
      hang_up_(std::move(hang_up)),
      received_(std::move(received)),
      stop_(stop),
      cancel_(stop, [this] {
        const std::lock_guard lock(mutex_);
        changed_.notify_all();
      }) {
  agent.async()->Sync(&context_, this);
  AddHold();  // Write is called from outside gRPC's calls to us
  StartRead(&incoming_);
  StartCall();
}

SyncStream::~SyncStream() {
  std::unique_lock lock(mutex_);
  if (!status_ && !cancelled_) Cancel();
  Await(lock, [this] { return status_.has_value(); });
}

void SyncStream::Cancel() {
  context_.TryCancel();
  cancelled_ = Clock::now();
}

// Until the condition holds, which it must once nothing is being read or written any more.
template <typename Condition>
void SyncStream::Await(std::unique_lock<std::mutex>& lock, Condition condition) {
  while (!condition()) {
    const auto now = Clock::now();
    if (cancelled_ && now >= *cancelled_ + kCancelLimit) {
      hang_up_();
      changed_.wait(lock, condition);
    } else if (cancelled_) {
      changed_.wait_until(lock, *cancelled_ + kCancelLimit);
    } else if (stop_.stop_requested() || now >= moved_ + stall_limit_) {
      stalled_ = !stop_.stop_requested();
      Cancel();
    } else {
      changed_.wait_until(lock, moved_ + stall_limit_);
    }
  }
}

bool SyncStream::Write(const v1::SyncRequest& message) {
  std::unique_lock lock(mutex_);
  if (read_all_) return false;
  outgoing_ = message;
  moved_ = Clock::now();
  StartWrite(&*outgoing_);
  Await(lock, [this] { return !outgoing_; });
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

Status SyncStream::End() {
  std::unique_lock lock(mutex_);
  moved_ = Clock::now();
  Await(lock, [this] { return status_.has_value(); });
  if (!broken_rule_.ok()) return broken_rule_;
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
    moved_ = Clock::now();
    const Status allowed = ok ? rules_.Check(incoming_) : OkStatus();
    if (!allowed.ok() && broken_rule_.ok()) {
      broken_rule_ = allowed;
      if (!cancelled_) Cancel();
    }
    if (!ok) {
      read_all_ = true;
    } else if (!broken_rule_.ok()) {
      // nothing of it counts
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
  moved_ = Clock::now();
  outgoing_.reset();
  changed_.notify_all();
}

void SyncStream::OnDone(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  status_ = status;
  changed_.notify_all();
}

}  // namespace autodist::transfer
