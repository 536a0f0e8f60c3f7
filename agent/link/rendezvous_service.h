// The service with which ranks on this node send requests to the chief.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "agent/link/event_queue.h"
#include "agent/link/open_calls.h"
#include "autodist/v1/rendezvous.grpc.pb.h"

namespace autodist::agent {

// Forwards rendezvous calls to the chief. Thread-safe; no call blocks.
class RendezvousService final : public v1::RendezvousService::CallbackService {
 public:
  explicit RendezvousService(EventQueue& events) : events_(events) {}

  using Answer = std::function<void(const v1::RendezvousReply& reply)>;

  // Sends a request to the chief; `answer` is called at most once, on a gRPC thread, and must not
  // block. Returns the request's id.
  uint64_t Ask(v1::RendezvousRequest request, Answer answer);
  // Cancels the request, also at the chief; false if it has been answered.
  bool Forget(uint64_t id);

  // The limit for concurrent requests of ranks.
  static constexpr size_t kMaxWaiting = 16 << 20;  // bytes of requests
  // The limit for replies that ranks have not yet read; further requests are postponed.
  static constexpr size_t kMaxReplies = 8 << 20;  // bytes of values

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

  struct Waiting {
    Answer answer;
    std::optional<std::string> key;  // of a get request
    size_t room = 0;                 // bytes reserved for its reply
  };

  EventQueue& events_;
  // Returns "" if a rank's request is admitted, otherwise the reason. After an admitted one call
  // LetGo with the sizes of request and reply.
  std::string Admit(const v1::RendezvousRequest& request);
  void LetGo(size_t admitted, size_t replied);
  // Whether another reply fits; call with mutex_ held.
  bool IsRoom(size_t size) const;

  std::atomic<uint64_t> next_id_ = 1;
  std::mutex mutex_;
  // All guarded by mutex_.
  std::map<uint64_t, Waiting> waiting_;
  std::deque<std::pair<uint64_t, size_t>> put_off_;  // postponed get requests, with sizes
  size_t of_ranks_ = 0;                              // bytes of ranks' requests
  size_t replies_ = 0;                               // bytes, unread or expected
  OpenCalls open_calls_;                             // last
};

}  // namespace autodist::agent
