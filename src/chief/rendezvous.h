// The job's key/value store and barriers, by which ranks find each other. Ranks reach it through
// the agents.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "autodist/v1/agent.pb.h"

namespace autodist::chief {

// Not thread-safe; never blocks: a request that has to wait is answered later.
class Rendezvous {
 public:
  using Reply = std::function<void(const v1::RendezvousReply& reply)>;

  explicit Rendezvous(uint32_t world_size) : world_size_(world_size) {}

  // `reply` is called once, now or as soon as the request can be answered; never for a get of a
  // key that nobody sets.
  void Handle(const v1::RendezvousRequest& request, Reply reply);

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

  std::string Set(const v1::SetRequest& request);  // the error, or ""
  void EnterBarrier(const v1::BarrierRequest& request, Waiting waiting);

  const uint32_t world_size_;
  size_t stored_ = 0;  // bytes
  std::map<std::string, std::string> values_;
  std::map<std::string, std::vector<Waiting>> gets_;  // by key not yet set
  std::map<std::string, BarrierState> barriers_;
};

}  // namespace autodist::chief
