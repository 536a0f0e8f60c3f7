#include "rendezvous_service.h"

#include <utility>

namespace autodist::agent {

// A rank's call that waits for the chief's answer.
class RendezvousService::Call final : public grpc::ServerUnaryReactor {
 public:
  Call(RendezvousService& service, uint64_t id, FillResponse fill)
      : service_(service), id_(id), fill_(std::move(fill)) {}

  void Answer(const v1::RendezvousReply& reply) {
    if (!reply.error().empty()) {
      Finish({grpc::StatusCode::INVALID_ARGUMENT, reply.error()});
      return;
    }
    fill_(reply);
    Finish(grpc::Status::OK);
  }

 private:
  void OnCancel() override { service_.Cancel(id_); }
  void OnDone() override { delete this; }

  RendezvousService& service_;
  const uint64_t id_;
  const FillResponse fill_;
};

grpc::ServerUnaryReactor* RendezvousService::Forward(v1::RendezvousRequest request,
                                                     FillResponse fill) {
  Call* call = nullptr;
  {
    const std::lock_guard lock(mutex_);
    request.set_id(next_id_++);
    call = new Call(*this, request.id(), std::move(fill));
    waiting_[request.id()] = call;
  }
  v1::AgentEvent event;
  *event.mutable_rendezvous_request() = std::move(request);
  events_.Push(std::move(event));
  return call;
}

void RendezvousService::Reply(const v1::RendezvousReply& reply) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(reply.id());
  if (found == waiting_.end()) return;  // cancelled meanwhile
  Call* call = found->second;
  waiting_.erase(found);
  call->Answer(reply);
}

void RendezvousService::Cancel(uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  Call* call = found->second;
  waiting_.erase(found);
  call->Finish(grpc::Status::CANCELLED);
}

grpc::ServerUnaryReactor* RendezvousService::Set(grpc::CallbackServerContext*,
                                                 const v1::SetRequest* request, v1::SetResponse*) {
  v1::RendezvousRequest forwarded;
  *forwarded.mutable_set() = *request;
  return Forward(std::move(forwarded), [](const v1::RendezvousReply&) {});
}

grpc::ServerUnaryReactor* RendezvousService::Get(grpc::CallbackServerContext*,
                                                 const v1::GetRequest* request,
                                                 v1::GetResponse* response) {
  v1::RendezvousRequest forwarded;
  *forwarded.mutable_get() = *request;
  return Forward(std::move(forwarded), [response](const v1::RendezvousReply& reply) {
    response->set_value(reply.value());
  });
}

grpc::ServerUnaryReactor* RendezvousService::Barrier(grpc::CallbackServerContext*,
                                                     const v1::BarrierRequest* request,
                                                     v1::BarrierResponse*) {
  v1::RendezvousRequest forwarded;
  *forwarded.mutable_barrier() = *request;
  return Forward(std::move(forwarded), [](const v1::RendezvousReply&) {});
}

}  // namespace autodist::agent
