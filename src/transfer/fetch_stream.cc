#include "transfer/fetch_stream.h"

#include <utility>

#include "base/quantity.h"
#include "rpc/channel.h"

namespace autodist::transfer {

FetchStream::FetchStream(v1::AgentService::Stub& agent, const v1::FetchFilesRequest& request,
                         const std::stop_token& stop, std::chrono::milliseconds silence)
    : request_(request),
      stop_(stop),
      silence_(silence),
      cancel_(stop, [this] { context_.TryCancel(); }) {
  agent.async()->FetchFiles(&context_, &request_, this);
  AddHold();  // reads are begun outside gRPC's calls to us
  StartCall();
}

FetchStream::~FetchStream() {
  if (!over_) context_.TryCancel();
  while (!over_) Next();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return status_.has_value(); });
}

// Whether there is a message.
bool FetchStream::Next() {
  std::unique_lock lock(mutex_);
  reading_ = true;
  StartRead(&incoming_);
  const auto read = [this] { return !reading_; };
  if (!changed_.wait_for(lock, silence_, read)) {
    silent_ = true;
    context_.TryCancel();
    changed_.wait(lock, read);
  }
  if (read_ok_) return true;
  over_ = true;
  lock.unlock();
  RemoveHold();
  return false;
}

std::optional<v1::FetchFilesResponse> FetchStream::Read() {
  if (over_ || !broken_rule_.ok() || !Next()) return std::nullopt;
  broken_rule_ = rules_.Check(incoming_);
  if (!broken_rule_.ok()) return std::nullopt;
  if (incoming_.has_finished()) finished_ = incoming_.finished();
  return std::move(incoming_);
}

Status FetchStream::End() {
  if (!broken_rule_.ok()) return broken_rule_;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return status_.has_value(); });
  if (finished_ && finished_->error().empty()) return OkStatus();
  if (finished_) {
    const Status failed = Error(StatusCode::kFailedPrecondition, finished_->error());
    return finished_->remedy().empty() ? failed : WithRemedy(failed, finished_->remedy());
  }
  if (stop_.stop_requested()) return Error(StatusCode::kCancelled, "cancelled");
  if (silent_) {
    return WithRemedy(
        Error(StatusCode::kDeadlineExceeded, "nothing has come for " + base::Seconds(silence_)),
        "is the link to the node up, and its file system fast enough?");
  }
  if (status_->ok()) return Error(StatusCode::kUnavailable, "the agent left before the end");
  return Annotate(rpc::FromGrpc(*status_), "the connection with the agent broke");
}

void FetchStream::OnReadDone(bool ok) {
  const std::lock_guard lock(mutex_);
  reading_ = false;
  read_ok_ = ok;
  changed_.notify_all();
}

void FetchStream::OnDone(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  status_ = status;
  changed_.notify_all();
}

}  // namespace autodist::transfer
