// The nodes of a job, before, beside and over its attempts. Each has a state (node_machine.h);
// the fleet turns what happens into events of that, and does what its table says.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "chief/fleet/all_hold.h"
#include "chief/fleet/fleet_node.h"
#include "chief/fleet/inbox.h"
#include "chief/fleet/lease_monitor.h"
#include "chief/fleet/reconnection.h"
#include "chief/loop/loop.h"
#include "chief/output/alike.h"
#include "chief/output/console.h"
#include "chief/output/output_router.h"
#include "launch/launcher.h"

namespace autodist::chief {

// What becomes of the nodes. Called on the loop's thread. A node is given by its rank in the job's
// plan; a member is a node that takes part in the present attempt, by its rank in the attempt's
// plan.
class FleetListener {
 public:
  virtual void OnMemberEvent(uint32_t member, const v1::AgentEvent& event) = 0;
  virtual void OnWarning(uint32_t node, const std::string& what) = 0;  // of the agent's
  // How a node of the attempt is, at a time of our clock. Whether its ranks are alive it does not
  // say: those of a hanging one are looked at, too.
  virtual void OnSample(uint32_t /*node*/, v1::NodeSample&& /*sample*/) {}
  // Nothing will come from it any more in this attempt, of which it may be a member. kAborted: its
  // agent has gone. `drained`: nothing of the attempt was left there.
  virtual void OnLost(uint32_t node, std::optional<uint32_t> member, const Status& why,
                      bool drained) = 0;
  // It is about to be lost: its scheduler ends it, and its ranks have been told to end.
  virtual void OnEvicted(uint32_t node, std::optional<uint32_t> member, const Status& why) = 0;
  virtual void OnPhase(uint32_t node, v1::NodePhase phase, const std::string& why) = 0;

 protected:
  ~FleetListener() = default;
};

// For the loop's thread.
class Fleet final : private InboxReader {
 public:
  // What is given must outlive the fleet.
  Fleet(const v1::LaunchPlan& plan, std::chrono::milliseconds lease, Loop& loop,
        OutputRouter& output, Console& console, FleetListener& listener);
  ~Fleet() { DisconnectAtExit(); }

  // By which to connect again; from now on that is done.
  void ConnectAgainBy(launch::Launcher& launcher) { reconnection_.UseLauncher(launcher); }
  // Ends all connections, with the process: nothing comes from a node any more.
  void DisconnectAtExit();

  // A step of the launch: kConnect, kBootstrap or kProbe.
  void Launches(uint32_t node, NodeEvent step) { Take(node, step); }
  // The node has been reached.
  void Add(uint32_t node, const std::shared_ptr<launch::NodeLink>& link);
  // Tries to reach a lost node once more, until the limit.
  void TryRejoin(uint32_t node, Loop::Time limit);
  void StopRejoining();
  // Whether a connection to it is being made.
  bool BeingLinked(uint32_t node) const { return reconnection_.BeingLinked(node); }

  // These nodes are prepared for another attempt.
  void Prepare(const std::vector<uint32_t>& nodes);
  // An attempt begins on these nodes, in the order of its plan; its ranks start afterwards.
  void BeginAttempt(const std::vector<uint32_t>& members);
  void StartRanks();
  void StopRanks(std::chrono::milliseconds grace);
  // What is running on the nodes is to end, which each is told once; with `leave`, so are the
  // agents.
  void End(std::chrono::milliseconds grace, bool leave);

  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  const std::vector<uint32_t>& members() const { return members_; }
  // Itself thread-safe.
  Node& node(uint32_t node) { return *nodes_[node].session; }
  const Node& node(uint32_t node) const { return *nodes_[node].session; }
  const NodeMachine& state(uint32_t node) const { return nodes_[node].machine; }
  bool All(const std::function<bool(uint32_t node)>& holds) const;
  bool Connected(uint32_t node) const { return nodes_[node].connected(); }
  // Connected, and not about to go.
  bool Stays(uint32_t node) const { return Connected(node) && !state(node).evicted(); }
  uint32_t staying() const;  // how many
  // Whether one is about to go.
  bool AnyEvicted() const;
  // Whether the agent of every node that is alive has answered, and so will not go by itself.
  bool AllResumed() const;
  bool AnyDisconnected() const { return disconnected_ > 0; }
  // Whether the node was lost in this attempt, and its agent was not known to have gone.
  bool WasCutOff(uint32_t node) const { return nodes_[node].cut_off; }
  // Why the node is lost.
  const Status& lost_because(uint32_t node) const { return nodes_[node].lost_because; }

  // To all nodes that are alive.
  void SendToAll(const v1::ChiefMessage& message);

  void RenewAll() { leases_.RenewAll(); }
  bool AllRenewed() const { return leases_.AllRenewed(); }
  // The chief itself has been stopped until now.
  void ResetSilenceTimers() { leases_.ResetSilenceTimers(); }

 private:
  void TakeEvent(uint32_t node, v1::AgentEvent event, int64_t arrived_ns) override;
  void Handled(uint32_t node, size_t cost) override { nodes_[node].session->Handled(cost); }
  void TakeClosed(uint32_t node, uint64_t connection, const Status& status) override;

  // The event, and what has to be done because of it. `why`: it is in another phase then.
  NodeAction Take(uint32_t node, NodeEvent event, const std::string& why = "");
  // `drained`: it was before.
  void Do(uint32_t node, NodeAction action, bool drained);
  void MarkLost(uint32_t node, NodeEvent event, const Status& why);
  void TakeMemberEvent(FleetNode& node, v1::AgentEvent event);
  void TakeAnswer(uint32_t node);
  void Reconnected(uint32_t node, const launch::LaunchedNode& linked);
  void OnGracefulExit(uint32_t node);
  void SendEnd(FleetNode& node);
  void Expire(uint32_t node);
  const std::string& AddressOf(uint32_t node) const;
  // Of many nodes at the same time, not of each.
  void Tell(base::LogLevel level, uint32_t node, const std::string& what);

  const v1::LaunchPlan& plan_;
  const std::chrono::milliseconds lease_;
  Loop& loop_;
  Console& console_;
  FleetListener& listener_;
  struct {
    bool rejoin = true;                  // lost nodes may come back
    bool leaving = false;                // the agents have been told to go
    std::chrono::milliseconds grace{0};  // of the last End
  } orders_;
  size_t disconnected_ = 0;
  mutable AllHold all_;
  Alike<base::LogLevel> reported_;
  std::vector<uint32_t> members_;
  Inbox inbox_;
  Reconnection reconnection_;
  std::vector<FleetNode> nodes_;
  LeaseMonitor leases_;
};

}  // namespace autodist::chief
