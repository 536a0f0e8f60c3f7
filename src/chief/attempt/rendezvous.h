// The job's key/value store, barriers and gathers, by which ranks find each other. Ranks reach it
// through the agents.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "autodist/v1/agent.pb.h"
#include "chief/attempt/waiting_calls.h"

namespace autodist::chief {

// Not thread-safe; never blocks: a request that has to wait is answered later.
class Rendezvous {
 public:
  // `node_of` has the node of each rank. Gathers use the PMIx namespace. `values` and `calls` must
  // outlive it.
  Rendezvous(std::vector<uint32_t> node_of, std::string name_space, Values& values,
             WaitingCalls& calls)
      : node_of_(std::move(node_of)),
        name_space_(std::move(name_space)),
        values_(values),
        calls_(calls) {}

  // Handles a request of `node`. Calls `reply` once, now or as soon as the request can be answered;
  // never for a get of a key that is not set, nor for a cancelled call.
  void Handle(uint32_t node, const v1::RendezvousRequest& request, const Reply& reply);

 private:
  struct Gathering {
    std::set<uint32_t> nodes;              // that take part
    std::map<uint32_t, std::string> data;  // of nodes that have contributed
    size_t size = 0;                       // bytes
    std::vector<WaitingCall> waiting;
  };
  // Calls that wait for the same event: gets by their order, calls of a barrier by rank.
  using Queue = std::map<uint64_t, WaitingCall>;
  using Queues = std::map<std::string, Queue>;  // by key, or by name of a barrier
  struct Place {
    Queues& queues;
    Queues::iterator queue;
    Queue::iterator call;
  };

  // Each returns the reason of a refusal, or "".
  std::string Set(uint32_t node, const v1::SetRequest& request);
  std::string Get(WaitingCall call, const std::string& key);
  std::string EnterBarrier(WaitingCall call, const v1::BarrierRequest& request);
  std::string Gather(WaitingCall call, const v1::GatherRequest& request);

  // Returns the reason of a refusal, or "".
  std::string Wait(WaitingCall call, Queues& queues, const std::string& name, uint64_t position);
  void AnswerAll(Queues& queues, const std::string& name, const SharedValue& value);
  void Complete(const Gathering& gathering);
  void Forget(uint32_t node, uint64_t id);
  std::string CheckGather(uint32_t node, const v1::GatherRequest& request) const;
  std::set<uint32_t> NodesOf(const v1::GatherRequest& request) const;

  const std::vector<uint32_t> node_of_;
  const std::string name_space_;
  Values& values_;
  WaitingCalls& calls_;
  std::map<std::string, SharedValue> stored_;
  Queues gets_;  // by key not yet set
  Queues barriers_;
  uint64_t last_get_ = 0;
  std::map<std::pair<uint32_t, uint64_t>, Place> waiting_;  // calls by node and id, to cancel them
  std::map<std::vector<uint32_t>, Gathering> gathers_;      // by ranks
};

}  // namespace autodist::chief
