#include "chief/checks/visit.h"

#include <chrono>
#include <memory>

#include "base/deadline.h"
#include "chief/fleet/node.h"

namespace autodist::chief {
namespace {

using base::Deadline;

// Agents that have not received it by then stay until their leases end: longer for those of nodes
// that have answered all along, as the machines may be busy.
constexpr std::chrono::milliseconds kAgentsGoneLimit{10'000};
constexpr std::chrono::milliseconds kFailedAgentsGoneLimit{3'000};

// Of agents that are only told to go.
class NobodyListens final : public NodeListener {
 public:
  void OnEvent(uint32_t, v1::AgentEvent) override {}
  void OnOutput(uint32_t, v1::Output) override {}
  void OnClosed(uint32_t, uint64_t, Status) override {}
};

}  // namespace

std::vector<launch::LaunchedNode> LaunchAll(launch::Launcher& launcher, size_t count, Loop& loop) {
  std::vector<launch::LaunchedNode> nodes(count);
  size_t done = 0;
  launcher.Start([&](launch::LaunchedNode node) {
    loop.Post([&, node = std::move(node)] {
      nodes[node.node_rank] = node;
      ++done;
    });
  });
  loop.RunUntil([&] { return done == count; });  // each node turns out, in bounded time
  return nodes;
}

void EndAgents(std::vector<launch::LaunchedNode>& nodes, const Loop& loop) {
  v1::ChiefMessage shutdown;
  shutdown.mutable_shutdown()->set_grace_ms(0);
  NobodyListens nobody;
  std::vector<std::unique_ptr<Node>> ending;
  for (launch::LaunchedNode& node : nodes) {
    if (!node.link) continue;
    ending.push_back(std::make_unique<Node>(node.node_rank, nobody, loop));
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
