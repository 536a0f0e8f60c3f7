// What one rank has published, fetched from the node that it runs on for another that asks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "autodist/v1/agent.pb.h"
#include "chief/attempt/waiting_calls.h"

namespace autodist::chief {

// Not thread-safe; never blocks.
class Modex {
 public:
  using Ask = std::function<void(uint32_t node, const v1::ModexQuestion& question)>;
  // `node_of` has the node of each rank in the PMIx namespace. Questions are numbered from
  // `first_id` on: what still comes of an earlier attempt must not be taken for an answer.
  Modex(std::vector<uint32_t> node_of, std::string name_space, Values& values, WaitingCalls& calls,
        uint64_t first_id, Ask ask)
      : node_of_(std::move(node_of)),
        name_space_(std::move(name_space)),
        values_(values),
        calls_(calls),
        next_id_(first_id),
        ask_(std::move(ask)) {}

  // Of a request of `node` with a modex. `reply` is called once, when the rank's node has answered.
  void Handle(uint32_t node, const v1::RendezvousRequest& request, const Reply& reply);
  // From a node; ignored where it was not asked.
  void Answered(uint32_t node, const v1::ModexAnswer& answer);

 private:
  struct Waiting {
    uint32_t asked;  // the node
    WaitingCall call;
  };

  std::string Check(const v1::ModexRequest& request) const;

  const std::vector<uint32_t> node_of_;
  const std::string name_space_;
  Values& values_;
  WaitingCalls& calls_;
  uint64_t next_id_;
  const Ask ask_;
  std::map<uint64_t, Waiting> waiting_;  // by the question's id
};

}  // namespace autodist::chief
