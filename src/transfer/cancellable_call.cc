#include "transfer/cancellable_call.h"

#include "base/quantity.h"
#include "rpc/channel.h"

namespace autodist::transfer {
namespace {

// The time for a cancelled call to end: gRPC first finishes a write in progress, which a stalled
// connection prevents.
constexpr std::chrono::milliseconds kCancelLimit{1000};

}  // namespace

void CallOutcome::Finish(const std::string& error, const std::string& remedy) {
  finished_ = error.empty() ? OkStatus()
                            : WithRemedy(Error(StatusCode::kFailedPrecondition, error), remedy);
}

Status CallOutcome::Get(const std::stop_token& stop) const {
  if (rule_broken()) return broken_rule_;
  if (finished_) return *finished_;
  if (stop.stop_requested()) return Error(StatusCode::kCancelled, "cancelled");
  if (!stalled_.empty()) {
    return WithRemedy(Error(StatusCode::kDeadlineExceeded, stalled_),
                      "check the link to the node and its file system");
  }
  if (ended_->ok()) {
    return Error(StatusCode::kUnavailable, "the agent ended the transfer without a result");
  }
  return Annotate(*ended_, "the connection with the agent broke");
}

void CancellableCall::Cancel() {
  context_.TryCancel();
  cancelled_ = Clock::now();
}

void CancellableCall::Await(std::unique_lock<std::mutex>& lock,
                            const std::function<bool()>& condition) {
  while (!condition()) {
    const auto now = Clock::now();
    if (cancelled_ && now >= *cancelled_ + kCancelLimit) {
      hang_up_();
      changed_.wait(lock, condition);
    } else if (cancelled_) {
      changed_.wait_until(lock, *cancelled_ + kCancelLimit);
    } else if (stop_.stop_requested() || now >= moved_ + stall_limit_) {
      outcome_.Stall("no data was transferred for " + base::Seconds(stall_limit_));
      Cancel();
    } else {
      changed_.wait_until(lock, stop_, moved_ + stall_limit_,
                          [&] { return condition() || cancelled_; });
    }
  }
}

Status CancellableCall::AwaitEnd() {
  std::unique_lock lock(mutex_);
  moved_ = Clock::now();
  Await(lock, [this] { return outcome_.rule_broken() || outcome_.ended(); });
  return outcome_.Get(stop_);
}

void CancellableCall::SetEnd(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  outcome_.End(rpc::FromGrpc(status));
  changed_.notify_all();
}

}  // namespace autodist::transfer
