// Keeps in touch with the nodes of a job: renews their leases, notices who is silent, connects
// again with who was cut off, and gives up on who stays away for a whole lease.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "base/log.h"
#include "chief/nodes/node.h"
#include "chief/nodes/node_state.h"
#include "launch/launcher.h"

namespace autodist::chief {

// For one thread, the job's, to which everything that comes from others is posted.
class NodeWatch {
 public:
  struct Handlers {
    std::function<void(uint32_t node, const v1::AgentEvent& event)> event;
    // On gRPC's threads: output must neither delay the job's thread nor wait for it.
    std::function<void(uint32_t node, v1::Output output)> output;
    std::function<void(uint32_t node, const Status& why)> lost;
    std::function<void(uint32_t node)> ended;  // its agent has gone, after Shutdown
    std::function<void(uint32_t node, v1::NodePhase phase, const std::string& why)> changed;
    std::function<void(base::LogLevel level, std::string text)> tell;  // the person
  };
  // `post` runs a task on the job's thread.
  using Post = std::function<void(std::function<void()> task)>;

  NodeWatch(const v1::LaunchPlan& plan, std::chrono::milliseconds lease, Post post,
            Handlers handlers);

  // By which to connect again; from now on that is done.
  void ConnectAgainBy(launch::Launcher& launcher) { launcher_ = &launcher; }

  // The node has been reached.
  void Add(uint32_t node, const std::shared_ptr<launch::NodeLink>& link);
  // The node's agent has nothing more to tell: it may be gone when it is connected with again.
  void MayBeGone(uint32_t node) { nodes_[node].may_be_gone = true; }
  // Tries to reach a lost node once more, until the deadline.
  void BringBack(uint32_t node, base::Deadline deadline);
  void BringBackNoMore();
  // Whether a connection to it is being made.
  bool BeingLinked(uint32_t node) const { return linking_.contains(node); }

  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  Node& node(uint32_t node) { return *nodes_[node].node; }
  NodeState& state(uint32_t node) { return nodes_[node].state; }
  bool Connected(uint32_t node) const;
  // Whether the agent of every node that is alive has answered, and so will not go by itself.
  bool AllResumed() const;

  // To all nodes that are alive.
  void OrderAll(const v1::ChiefMessage& message);

  void RenewAll();
  // Whether every node that is connected has answered the last renewal, and so has heard what it
  // was ordered before.
  bool AllRenewed() const;

  // Does what is due; returns when to call it again.
  base::Deadline Tick();
  // The chief itself has been stopped until now.
  void Forgive();

  // A time of the node's clock by ours.
  int64_t ByOurClock(uint32_t node, int64_t time_ns) const;

 private:
  struct Watched {
    Watched(Node::Handlers handlers, NodeState node_state)
        : node(std::make_unique<Node>(std::move(handlers))), state(std::move(node_state)) {}
    std::unique_ptr<Node> node;
    NodeState state;
    bool may_be_gone = false;
    int64_t clock_ahead_ns = 0;
    int64_t best_round_trip_ns = INT64_MAX;  // of a renewal: the offset is known to half of it
    uint64_t renewal = 0;                    // the number of the last
    uint64_t renewed = 0;                    // and of the last that was answered
    int64_t renewal_sent_ns = 0;
  };

  void TakeEvent(uint32_t node, const v1::AgentEvent& event);
  void TakeRenewed(Watched& watched, const v1::LeaseRenewed& renewed);
  void Closed(uint32_t node, uint64_t connection, const Status& status);
  void Linked(uint32_t node, const launch::LaunchedNode& linked, NodeState::Time broken);
  void Lose(uint32_t node, const Status& why);
  void Renew(Watched& watched);
  const std::string& AddressOf(uint32_t node) const;

  const v1::LaunchPlan& plan_;
  const std::chrono::milliseconds lease_;
  const Post post_;
  const Handlers handlers_;
  launch::Launcher* launcher_ = nullptr;
  bool bring_back_ = true;
  std::set<uint32_t> linking_;  // nodes that a thread of the launcher is busy with
  base::Deadline renew_at_;
  std::vector<Watched> nodes_;
};

}  // namespace autodist::chief
