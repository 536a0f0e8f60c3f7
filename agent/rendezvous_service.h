// The service that ranks reach on their node; the answers come from the chief.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "autodist/v1/agent.grpc.pb.h"
#include "event_queue.h"

namespace autodist::agent {

// Rendezvous calls of the ranks on this node, passed on to the chief. Thread-safe.
class RendezvousService final : public v1::RendezvousService::CallbackService {
 public:
  explicit RendezvousService(EventQueue& events) : events_(events) {}

  void Reply(const v1::RendezvousReply& reply);

  grpc::ServerUnaryReactor* Set(grpc::CallbackServerContext*, const v1::SetRequest*,
                                v1::SetResponse*) override;
  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext*, const v1::GetRequest*,
                                v1::GetResponse*) override;
  grpc::ServerUnaryReactor* Barrier(grpc::CallbackServerContext*, const v1::BarrierRequest*,
                                    v1::BarrierResponse*) override;

 private:
  class Call;
  using FillResponse = std::function<void(const v1::RendezvousReply&)>;
  grpc::ServerUnaryReactor* Forward(v1::RendezvousRequest request, FillResponse fill);
  void Cancel(uint64_t id);

  EventQueue& events_;
  std::mutex mutex_;
  uint64_t next_id_ = 1;
  std::map<uint64_t, Call*> waiting_;
};

}  // namespace autodist::agent
