#include "agent/link/rendezvous_service.h"

#include <algorithm>

#include "base/quantity.h"
#include "rpc/limits.h"

namespace autodist::agent {
namespace {

constexpr size_t kCostOfCall = 512;  // bytes, in addition to the request

size_t SizeOf(const v1::RendezvousRequest& request) { return request.ByteSizeLong() + kCostOfCall; }

}  // namespace

// A rank's call that waits for the chief's answer.
class RendezvousService::Call final : public grpc::ServerUnaryReactor {
 public:
  Call(RendezvousService& service, v1::RendezvousRequest request, FillResponse fill)
      : entry_(service.open_calls_), service_(service), fill_(std::move(fill)) {
    const std::string refusal = service_.Admit(request);
    if (!refusal.empty()) {
      Finish({grpc::StatusCode::RESOURCE_EXHAUSTED, refusal});
      return;
    }
    admitted_ = SizeOf(request);
    id_ = service_.Ask(std::move(request),
                       [this](const v1::RendezvousReply& reply) { Answer(reply); });
  }

 private:
  void Answer(const v1::RendezvousReply& reply) {
    if (!reply.error().empty()) {
      Finish({grpc::StatusCode::INVALID_ARGUMENT, reply.error()});
      return;
    }
    replied_ = reply.value().size();
    fill_(reply);
    Finish(grpc::Status::OK);
  }
  void OnCancel() override {
    if (service_.Forget(id_)) Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override {
    service_.LetGo(admitted_, replied_);
    delete this;
  }

  const OpenCalls::Entry entry_;
  RendezvousService& service_;
  const FillResponse fill_;
  size_t admitted_ = 0;  // bytes
  size_t replied_ = 0;   // bytes
  std::atomic<uint64_t> id_ = 0;
};

uint64_t RendezvousService::Ask(v1::RendezvousRequest request, Answer answer) {
  const uint64_t id = next_id_++;
  request.set_id(id);
  {
    const std::lock_guard lock(mutex_);
    Waiting& waiting = waiting_[id];
    waiting.answer = std::move(answer);
    if (request.has_get()) waiting.key = request.get().key();
  }
  v1::AgentEvent event;
  *event.mutable_rendezvous_request() = std::move(request);
  events_.SendReliably(std::move(event));
  return id;
}

bool RendezvousService::Forget(uint64_t id) {
  {
    const std::lock_guard lock(mutex_);
    const auto waiting = waiting_.extract(id);
    if (!waiting) return false;
    replies_ -= waiting.mapped().room;
  }
  v1::AgentEvent event;
  event.mutable_rendezvous_request()->set_id(id);
  event.mutable_rendezvous_request()->mutable_cancel();
  events_.SendReliably(std::move(event));
  return true;
}

std::string RendezvousService::Admit(const v1::RendezvousRequest& request) {
  const size_t name = std::max(
      {request.set().key().size(), request.get().key().size(), request.barrier().name().size()});
  if (name > rpc::kMaxNameLength) {
    return "the name has " + std::to_string(name) + " bytes; " +
           std::to_string(rpc::kMaxNameLength) + " are allowed";
  }
  const size_t size = SizeOf(request);
  const std::lock_guard lock(mutex_);
  // Cancelled requests are still queued.
  if (std::max(of_ranks_, events_.size()) + size > kMaxWaiting) {
    return "the calls that the ranks of this node wait for already have " +
           base::Bytes(kMaxWaiting);
  }
  of_ranks_ += size;
  return "";
}

void RendezvousService::LetGo(size_t admitted, size_t replied) {
  const std::lock_guard lock(mutex_);
  of_ranks_ -= admitted;
  replies_ -= replied;
  while (!put_off_.empty()) {
    const auto [id, size] = put_off_.front();
    const auto waiting = waiting_.find(id);
    if (waiting != waiting_.end()) {  // otherwise cancelled meanwhile
      if (!IsRoom(size)) return;
      replies_ += waiting->second.room = size;
      v1::AgentEvent event;
      event.mutable_rendezvous_request()->set_id(id);
      event.mutable_rendezvous_request()->mutable_get()->set_key(*waiting->second.key);
      events_.SendReliably(std::move(event));
    }
    put_off_.pop_front();
  }
}

bool RendezvousService::IsRoom(size_t size) const {
  return replies_ == 0 || replies_ + size <= kMaxReplies;
}

void RendezvousService::Reply(const v1::RendezvousReply& reply) {
  const std::lock_guard lock(mutex_);
  const auto waiting = waiting_.find(reply.id());
  if (waiting == waiting_.end()) return;  // cancelled meanwhile
  if (waiting->second.key) {
    const size_t size = reply.value().size();
    replies_ -= std::exchange(waiting->second.room, 0);
    if (!IsRoom(size)) {
      put_off_.emplace_back(reply.id(), size);
      return;
    }
    replies_ += size;
  }
  const Answer answer = std::move(waiting->second.answer);
  waiting_.erase(waiting);
  answer(reply);
}

grpc::ServerUnaryReactor* RendezvousService::Set(grpc::CallbackServerContext*,
                                                 const v1::SetRequest* request, v1::SetResponse*) {
  v1::RendezvousRequest forwarded;
  *forwarded.mutable_set() = *request;
  return new Call(*this, std::move(forwarded), [](const v1::RendezvousReply&) {});
}

grpc::ServerUnaryReactor* RendezvousService::Get(grpc::CallbackServerContext*,
                                                 const v1::GetRequest* request,
                                                 v1::GetResponse* response) {
  v1::RendezvousRequest forwarded;
  *forwarded.mutable_get() = *request;
  return new Call(*this, std::move(forwarded), [response](const v1::RendezvousReply& reply) {
    response->set_value(reply.value());
  });
}

grpc::ServerUnaryReactor* RendezvousService::Barrier(grpc::CallbackServerContext*,
                                                     const v1::BarrierRequest* request,
                                                     v1::BarrierResponse*) {
  v1::RendezvousRequest forwarded;
  *forwarded.mutable_barrier() = *request;
  return new Call(*this, std::move(forwarded), [](const v1::RendezvousReply&) {});
}

}  // namespace autodist::agent
