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
  AddHold();  // reads are started outside of gRPC's callbacks
  StartCall();
}

FetchStream::~FetchStream() {
  if (!over_) context_.TryCancel();
  while (!over_) Next();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return outcome_.ended(); });
}

// Waits for a message; returns whether there is one.
bool FetchStream::Next() {
  std::unique_lock lock(mutex_);
  reading_ = true;
  StartRead(&incoming_);
  const auto read = [this] { return !reading_; };
  if (!changed_.wait_for(lock, silence_, read)) {
    outcome_.Stall("no data was received for " + base::Seconds(silence_));
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
  if (over_ || outcome_.rule_broken() || !Next()) return std::nullopt;
  outcome_.BreakRule(rules_.Check(incoming_));
  if (outcome_.rule_broken()) return std::nullopt;
  const v1::FetchFinished& finished = incoming_.finished();
  if (incoming_.has_finished()) outcome_.Finish(finished.error(), finished.remedy());
  return std::move(incoming_);
}

Status FetchStream::End() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return outcome_.rule_broken() || outcome_.ended(); });
  return outcome_.Get(stop_);
}

void FetchStream::OnReadDone(bool ok) {
  const std::lock_guard lock(mutex_);
  reading_ = false;
  read_ok_ = ok;
  changed_.notify_all();
}

void FetchStream::OnDone(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  outcome_.End(rpc::FromGrpc(status));
  changed_.notify_all();
}

}  // namespace autodist::transfer
