#include "agent/fetch/fetch_call.h"

#include <utility>

namespace autodist::agent {
namespace {

constexpr std::chrono::seconds kChiefTakesLimit{60};

}  // namespace

Status FetchCall::Write(v1::FetchFilesResponse message) {
  std::unique_lock lock(mutex_);
  if (ended_) return Error(StatusCode::kCancelled, "the chief has ended the call");
  outgoing_ = std::move(message);
  writing_ = true;
  StartWrite(&outgoing_);
  const auto written = [this] { return !writing_; };
  if (!changed_.wait_for(lock, kChiefTakesLimit, written)) {
    ended_ = true;
    context_.TryCancel();
    changed_.wait(lock, written);
  }
  return ended_ ? Error(StatusCode::kCancelled, "the chief takes nothing") : OkStatus();
}

bool FetchCall::Cancelled() {
  const std::lock_guard lock(mutex_);
  return ended_;
}

void FetchCall::OnWriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  writing_ = false;
  ended_ |= !ok;
  changed_.notify_all();
}

void FetchCall::OnCancel() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
}

void FetchCall::End() { Finish(Cancelled() ? grpc::Status::CANCELLED : grpc::Status::OK); }

}  // namespace autodist::agent
