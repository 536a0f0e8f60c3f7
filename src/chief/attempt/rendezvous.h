// The job's key/value store, barriers and gathers, by which ranks find each other. Ranks reach it
// through the agents.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "autodist/v1/agent.pb.h"

namespace autodist::chief {

// Not thread-safe; never blocks: a request that has to wait is answered later.
class Rendezvous {
 public:
  using Reply = std::function<void(const v1::RendezvousReply& reply)>;

  // `node_of` has the node of each rank. Gathers are those of the PMIx namespace.
  explicit Rendezvous(std::vector<uint32_t> node_of, std::string name_space = "")
      : node_of_(std::move(node_of)), name_space_(std::move(name_space)) {}

  // `node` asks. `reply` is called once, now or as soon as the request can be answered; never for
  // a get of a key that nobody sets.
  void Handle(uint32_t node, const v1::RendezvousRequest& request, Reply reply);

  static constexpr size_t kLargestValue = 1 << 20;    // bytes
  static constexpr size_t kLargestStore = 256 << 20;  // bytes, keys and values together

 private:
  struct Waiting {
    uint64_t id;
    Reply reply;
  };
  struct BarrierState {
    std::set<uint32_t> entered;
    std::vector<Waiting> waiting;
  };
  struct GatherState {
    std::set<uint32_t> nodes;              // that take part
    std::map<uint32_t, std::string> data;  // of those that have contributed
    size_t size = 0;                       // bytes
    std::vector<Waiting> waiting;
  };

  std::string Set(const v1::SetRequest& request);  // the error, or ""
  void EnterBarrier(const v1::BarrierRequest& request, Waiting waiting);
  void Gather(uint32_t node, const v1::GatherRequest& request, Waiting waiting);
  std::string CheckGather(uint32_t node, const v1::GatherRequest& request) const;
  std::set<uint32_t> NodesOf(const v1::GatherRequest& request) const;

  const std::vector<uint32_t> node_of_;
  const std::string name_space_;
  size_t stored_ = 0;  // bytes
  std::map<std::string, std::string> values_;
  std::map<std::string, std::vector<Waiting>> gets_;  // by key not yet set
  std::map<std::string, BarrierState> barriers_;
  std::map<std::vector<uint32_t>, GatherState> gathers_;  // by their ranks
};

}  // namespace autodist::chief
