// The nodes of a job, across its attempts. Each has a state (node_machine.h); the fleet translates
// what happens into events of that state machine, and executes its actions.
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
#include "chief/fleet/rank_ledger.h"
#include "chief/fleet/reconnection.h"
#include "chief/loop/loop.h"
#include "chief/output/console.h"
#include "chief/output/output_router.h"
#include "chief/output/repeat_limit.h"
#include "launch/launcher.h"

namespace autodist::chief {

// Receives the events of nodes, on the loop's thread. A node is identified by its rank in the job's
// plan. A member is a node of the current attempt, identified by its rank in the attempt's plan.
class FleetListener {
 public:
  virtual void OnMemberEvent(uint32_t member, const v1::AgentEvent& event) = 0;
  virtual void OnWarning(uint32_t node, const std::string& what) = 0;  // from the agent
  // A sample of a node of the attempt, with its time by the chief's clock. It does not show that
  // ranks are alive: nodes with hanging ranks send samples, too.
  virtual void OnSample(uint32_t /*node*/, v1::NodeSample&& /*sample*/) {}
  // No more events will arrive from the node in this attempt, of which it may be a member.
  // A ProofOfEnd: its agent has ended. `drained`: nothing of the attempt was left there.
  virtual void OnLost(uint32_t node, std::optional<uint32_t> member, const Status& why,
                      bool drained) = 0;
  // The node is about to be lost: its scheduler ends it, and its ranks are being stopped.
  virtual void OnEvicted(uint32_t node, std::optional<uint32_t> member, const Status& why) = 0;
  virtual void OnPhase(uint32_t node, v1::NodePhase phase, const std::string& why) = 0;

 protected:
  ~FleetListener() = default;
};

// Used on the loop's thread only.
class Fleet final : private InboxReader {
 public:
  struct Lease {
    std::chrono::milliseconds time;
    std::chrono::milliseconds end_time{0};  // of ranks after it, before SIGKILL
  };
  // The time for which the chief can be stopped by Ctrl-Z. Afterwards the agents end their ranks.
  static constexpr std::chrono::hours kMaxSuspension{24};

  // The arguments must outlive the fleet.
  Fleet(const v1::LaunchPlan& plan, Lease lease, Loop& loop, OutputRouter& output, Console& console,
        FleetListener& listener);
  ~Fleet() { DisconnectAtExit(); }

  // Sets the launcher for reconnections, and enables them.
  void ConnectAgainBy(launch::Launcher& launcher) { reconnection_.UseLauncher(launcher); }
  // Ends all connections when the process ends; no more events arrive.
  void DisconnectAtExit();

  // Takes a step of the launch: kConnect, kBootstrap or kProbe.
  void Launches(uint32_t node, NodeEvent step) { Take(node, step); }
  // Adds the link of a node that was reached.
  void Add(uint32_t node, const std::shared_ptr<launch::NodeLink>& link);
  // Tries once more to reach a lost node, until the limit. What runs on a node that rejoins is
  // ended. Does nothing while ranks may run there: a connection would renew the lease that ends
  // them. Only if Ctrl-Z holds the lease, this finds out whether they do.
  void TryRejoin(uint32_t node, Loop::Time limit);
  // Gives up a node whose ranks do not end, so that its lease runs out.
  void GiveUp(uint32_t node, const std::string& why);
  // Returns whether a connection to the node is being made.
  bool BeingLinked(uint32_t node) const { return reconnection_.BeingLinked(node); }

  // The job starts without this node, which was not reached.
  void StartWithout(uint32_t node, const Status& why);
  // The attempt runs without this node, which has rejoined and is no longer lost.
  void PassOver(uint32_t node) {
    Take(node, NodeEvent::kPassOver);
    if (state(node).alive()) nodes_[node].lost_because = OkStatus();
  }

  // Notes that these nodes are prepared for another attempt. Returns the generation for their
  // requests; those prepared last can start ranks.
  uint64_t Prepare(const std::vector<uint32_t>& nodes);
  // What may run where; asked before ranks are started.
  const RankLedger& ledger() const { return ledger_; }
  // Begins an attempt on these nodes, in the order of the plan. The ranks start afterwards.
  void BeginAttempt(const std::vector<uint32_t>& members);
  void StartRanks(const RankLedger::Clearance& clearance);
  void StopRanks(std::chrono::milliseconds grace);
  // Ends everything that runs on the nodes, and with `leave` the agents, too. Sends that once to
  // each node.
  void End(std::chrono::milliseconds grace, bool leave);
  // The chief is about to be stopped by Ctrl-Z, and continues: so do the ranks.
  void Suspend();
  void Continue();

  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  const std::vector<uint32_t>& members() const { return members_; }
  // The Node is thread-safe.
  Node& node(uint32_t node) { return *nodes_[node].session; }
  const Node& node(uint32_t node) const { return *nodes_[node].session; }
  const NodeMachine& state(uint32_t node) const { return nodes_[node].machine; }
  bool All(const std::function<bool(uint32_t node)>& holds) const;
  bool Connected(uint32_t node) const { return nodes_[node].connected(); }
  // Connected, and not being evicted.
  bool Stays(uint32_t node) const { return Connected(node) && !state(node).evicted(); }
  // Returns whether a node is being evicted.
  bool AnyEvicted() const;
  // Returns whether the agents of all live nodes have answered, and so will not exit by themselves.
  bool AllResumed() const;
  bool AnyDisconnected() const { return disconnected_ > 0; }
  bool AnyMemberDisconnected() const;
  // Why the node was lost.
  const Status& lost_because(uint32_t node) const { return nodes_[node].lost_because; }

  // Sends to all live nodes.
  void SendToAll(const v1::ChiefMessage& message);
  static v1::ChiefMessage SignalTo(int signal);  // an order to signal the ranks

  bool AllRenewed() const { return leases_.AllRenewed(); }

 private:
  void TakeEvent(uint32_t node, v1::AgentEvent event, int64_t arrived_ns) override;
  void Handled(uint32_t node, size_t cost) override { nodes_[node].session->Handled(cost); }
  void TakeClosed(uint32_t node, uint64_t connection, const Status& status) override;

  // Applies the event and executes its action. `why`: the detail of a new phase.
  NodeAction Take(uint32_t node, NodeEvent event, const std::string& why = "");
  // `drained`: the state before the event.
  void Do(uint32_t node, NodeAction action, bool drained);
  void EndsByLease(uint32_t node);
  void MarkLost(uint32_t node, NodeEvent event, const Status& why);
  void TakeMemberEvent(FleetNode& node, v1::AgentEvent event);
  void TakeAnswer(uint32_t node);
  void Reconnected(uint32_t node, const launch::LaunchedNode& linked);
  void OnGracefulExit(uint32_t node);
  void SendEnd(FleetNode& node);
  void Expire(uint32_t node);
  const std::string& AddressOf(uint32_t node) const;
  std::string SilenceOf(const FleetNode& node) const;  // "5 s", since its last answer
  // Logs messages of the first nodes only if many have one at the same time.
  void LogNode(base::LogLevel level, uint32_t node, const std::string& what);

  const v1::LaunchPlan& plan_;
  const Lease lease_;
  Loop& loop_;
  Console& console_;
  FleetListener& listener_;
  struct {
    bool leaving = false;                // the agents have been asked to exit, and none rejoins
    std::chrono::milliseconds grace{0};  // of the last End
  } orders_;
  uint64_t generation_ = 0;  // of the latest preparation
  RankLedger ledger_;
  size_t disconnected_ = 0;
  mutable AllHold all_;
  RepeatLimit<base::LogLevel> reported_;
  std::vector<uint32_t> members_;
  Inbox inbox_;
  Reconnection reconnection_;
  std::vector<FleetNode> nodes_;
  LeaseMonitor leases_;
};

}  // namespace autodist::chief
