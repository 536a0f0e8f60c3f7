// Waits for agents to exit that have reported that nothing is left on their nodes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "chief/loop/loop.h"
#include "launch/node_link.h"

namespace autodist::chief {

// Used on the loop's thread, which it does not block.
class Departures {
 public:
  using Links = std::map<uint32_t, std::shared_ptr<launch::NodeLink>>;  // by node

  ~Departures() { GiveUp(); }

  // Waits for all of them until the limit, on a background thread of the loop.
  void Await(Links links, Loop::Time limit, Loop& loop) {
    Await(state_, std::move(links), limit, loop);
  }
  // Ends the wait soon.
  void GiveUp() { state_->given_up = true; }
  bool over() const { return state_->over; }
  // Nodes whose agents had not exited by the limit; valid once the wait is over.
  const std::vector<uint32_t>& staying() const { return state_->staying; }

 private:
  struct State {
    bool given_up = false;
    bool over = false;
    std::vector<uint32_t> staying;
  };
  static void Await(const std::shared_ptr<State>& state, Links links, Loop::Time limit, Loop& loop);

  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace autodist::chief
