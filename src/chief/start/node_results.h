// Collects the results of nodes that are launched or prepared at the same time.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "chief/loop/loop.h"
#include "launch/launcher.h"

namespace autodist::chief {

// Used on the loop's thread. Results that arrive after its destruction are dropped.
class NodeResults {
 public:
  using Nodes = std::vector<launch::LaunchedNode>;

  explicit NodeResults(size_t count) : state_(std::make_shared<State>()) {
    state_->nodes.resize(count);
  }

  // Returns a callback for the launcher's threads. `came` is called on the loop's thread, and may
  // change the node's rank.
  template <typename Came>
  launch::Launcher::Done Taker(Loop& loop, Came came) const {
    return [state = state_, &loop, came](launch::LaunchedNode node) {
      loop.Post([state, came, node = std::move(node)]() mutable {
        came(node);
        ++state->done;
        node.link.reset();  // the fleet has it, and destroying a link may block
        state->nodes[node.node_rank] = std::move(node);
      });
    };
  }

  bool complete() const { return state_->done == state_->nodes.size(); }
  bool AllReached() const {
    return std::ranges::all_of(state_->nodes, [](const auto& node) { return node.status.ok(); });
  }
  Nodes& nodes() { return state_->nodes; }
  const Nodes& nodes() const { return state_->nodes; }

 private:
  struct State {
    Nodes nodes;
    size_t done = 0;
  };
  std::shared_ptr<State> state_;
};

}  // namespace autodist::chief
