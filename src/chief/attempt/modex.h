// What one rank has published, fetched from the node that it runs on for another that asks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "autodist/v1/agent.pb.h"

namespace autodist::chief {

// Not thread-safe; never blocks.
class Modex {
 public:
  using Ask = std::function<void(uint32_t node, const v1::ModexQuestion& question)>;
  using Reply = std::function<void(const v1::RendezvousReply& reply)>;

  // `node_of` has the node of each rank in the PMIx namespace. Questions are numbered from
  // `first_id` on: what still comes of an earlier attempt must not be taken for an answer.
  Modex(std::vector<uint32_t> node_of, std::string name_space, uint64_t first_id, Ask ask)
      : node_of_(std::move(node_of)),
        name_space_(std::move(name_space)),
        next_id_(first_id),
        ask_(std::move(ask)) {}

  // Of a request with a modex. `reply` is called once, when the rank's node has answered.
  void Handle(const v1::RendezvousRequest& request, Reply reply);
  // From a node; ignored where it was not asked.
  void Answered(uint32_t node, const v1::ModexAnswer& answer);

 private:
  struct Waiting {
    uint32_t node;  // that is asked
    uint64_t id;    // of the request
    Reply reply;
  };

  const std::vector<uint32_t> node_of_;
  const std::string name_space_;
  uint64_t next_id_;
  const Ask ask_;
  std::map<uint64_t, Waiting> waiting_;  // by the question's id
};

}  // namespace autodist::chief
