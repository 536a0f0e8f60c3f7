// What ranks on this node ask of the chief; the service by which they do.
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

// Passes rendezvous calls on to the chief. Thread-safe; no call blocks.
class RendezvousService final : public v1::RendezvousService::CallbackService {
 public:
  explicit RendezvousService(EventQueue& events) : events_(events) {}

  using Answer = std::function<void(const v1::RendezvousReply& reply)>;

  // Asks the chief; `answer` is called at most once, on a thread of gRPC's, and must not block.
  // Returns the request's id.
  uint64_t Ask(v1::RendezvousRequest request, Answer answer);
  // Nobody waits for the answer any more, and the chief is told so; false if it has been given.
  bool Forget(uint64_t id);

  // What ranks may wait for at the same time.
  static constexpr size_t kMaxWaiting = 16 << 20;  // bytes of requests
  // What they have been answered and have not yet read; the chief is asked for more later.
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
    std::optional<std::string> key;  // of a get
    size_t room = 0;                 // bytes kept for its reply
  };

  EventQueue& events_;
  // A rank's request: why it is refused here, or "". One that is not has to be let go of, with the
  // bytes of its reply.
  std::string Admit(const v1::RendezvousRequest& request);
  void LetGo(size_t admitted, size_t replied);
  // For one more reply; with mutex_.
  bool IsRoom(size_t size) const;

  std::atomic<uint64_t> next_id_ = 1;
  std::mutex mutex_;
  // All guarded by mutex_.
  std::map<uint64_t, Waiting> waiting_;
  std::deque<std::pair<uint64_t, size_t>> put_off_;  // gets that have to be asked again, and bytes
  size_t of_ranks_ = 0;                              // bytes of their requests
  size_t replies_ = 0;                               // bytes, not yet read or to come
  OpenCalls open_calls_;                             // last
};

}  // namespace autodist::agent
