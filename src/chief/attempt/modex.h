// Fetches for a node what a rank of another node has published through PMIx.
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
  // `node_of` has the node of each rank in the PMIx namespace. Requests are numbered from
  // `first_id`, so that an answer of an earlier attempt is not accepted.
  Modex(std::vector<uint32_t> node_of, std::string name_space, Values& values, WaitingCalls& calls,
        uint64_t first_id, Ask ask)
      : node_of_(std::move(node_of)),
        name_space_(std::move(name_space)),
        values_(values),
        calls_(calls),
        next_id_(first_id),
        ask_(std::move(ask)) {}

  // Handles a modex request of `node`. Calls `reply` once, when the rank's node has answered.
  void Handle(uint32_t node, const v1::RendezvousRequest& request, const Reply& reply);
  // Handles an answer of a node; ignored if that node was not asked.
  void Answered(uint32_t node, const v1::ModexAnswer& answer);

 private:
  struct Question {
    uint32_t rank = 0;
    std::vector<WaitingCall> calls = {};  // that wait for its answer
  };

  std::string Check(const v1::ModexRequest& request) const;

  const std::vector<uint32_t> node_of_;
  const std::string name_space_;
  Values& values_;
  WaitingCalls& calls_;
  uint64_t next_id_;
  const Ask ask_;
  std::map<uint64_t, Question> questions_;  // that are open, by id
  // The questions by rank: one at a time for each, so that others cannot overload its node.
  std::map<uint32_t, uint64_t> open_;
};

}  // namespace autodist::chief
