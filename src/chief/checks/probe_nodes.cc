#include "chief/checks/probe_nodes.h"

#include <chrono>
#include <latch>
#include <memory>
#include <utility>

#include "base/deadline.h"
#include "chief/fleet/node.h"
#include "chief/loop/loop.h"

namespace autodist::chief {
namespace {

using base::Deadline;

// An agent that has not received the shutdown by then stays until its lease ends. Nodes without a
// failure get more time, because the machines may be busy.
constexpr std::chrono::milliseconds kAgentsGoneLimit{10'000};
constexpr std::chrono::milliseconds kFailedAgentsGoneLimit{3'000};

// Ignores the events of agents that are about to leave.
class NullListener final : public NodeListener {
 public:
  void OnEvent(uint32_t, v1::AgentEvent) override {}
  void OnOutput(uint32_t, v1::Output) override {}
  void OnClosed(uint32_t, uint64_t, Status) override {}
};

}  // namespace

std::vector<launch::LaunchedNode> LaunchAll(launch::Launcher& launcher, size_t count) {
  struct Launching {
    explicit Launching(size_t all) : nodes(all), left(static_cast<ptrdiff_t>(all)) {}
    std::vector<launch::LaunchedNode> nodes;
    std::latch left;
  };
  const auto launching = std::make_shared<Launching>(count);
  launcher.Start([launching](launch::LaunchedNode node) {
    const uint32_t number = node.node_rank;
    launching->nodes[number] = std::move(node);
    launching->left.count_down();
  });
  launching->left.wait();  // each node has a result in bounded time
  return std::move(launching->nodes);
}

void EndAgents(std::vector<launch::LaunchedNode>& nodes) {
  v1::ChiefMessage shutdown;
  shutdown.mutable_shutdown()->set_grace_ms(0);
  const Loop clock;
  NullListener listener;
  std::vector<std::unique_ptr<Node>> ending;
  for (launch::LaunchedNode& node : nodes) {
    if (!node.link) continue;
    ending.push_back(std::make_unique<Node>(node.node_rank, listener, clock));
    ending.back()->Connect(node.link);
    ending.back()->SendReliably(shutdown);
  }
  const Deadline gone = Deadline::After(kAgentsGoneLimit);
  const Deadline failed_gone = Deadline::After(kFailedAgentsGoneLimit);
  for (launch::LaunchedNode& node : nodes) {
    if (node.link) node.link->WaitClosed(node.status.ok() ? gone : failed_gone);
  }
}

}  // namespace autodist::chief
