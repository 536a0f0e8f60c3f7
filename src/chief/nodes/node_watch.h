// Keeps in touch with the nodes of a job: renews their leases, notices who is silent, connects
// again with who was cut off, and gives up on who stays away for a whole lease.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "base/backoff.h"
#include "chief/loop/loop.h"
#include "chief/nodes/all_hold.h"
#include "chief/nodes/check_times.h"
#include "chief/nodes/node.h"
#include "chief/nodes/node_clock.h"
#include "chief/nodes/node_state.h"
#include "chief/nodes/quiet_events.h"
#include "chief/output/alike.h"
#include "chief/output/console.h"
#include "chief/output/output_router.h"
#include "launch/launcher.h"

namespace autodist::chief {

// What becomes of the nodes. Called on the loop's thread. A node is told by its rank in the job's
// plan; a member is a node that takes part in the present attempt, by its rank in the attempt's
// plan.
class NodeWatchListener {
 public:
  virtual void OnMemberEvent(uint32_t member, const v1::AgentEvent& event) = 0;
  virtual void OnWarning(uint32_t node, const std::string& what) = 0;  // of the agent's
  // How a node of the attempt is, at a time of our clock. Whether its ranks are alive it does not
  // say: those of a hanging one are looked at, too.
  virtual void OnSample(uint32_t /*node*/, v1::NodeSample&& /*sample*/) {}
  // It will not be heard any more in this attempt, of which it may be a member. kAborted: its agent
  // has gone.
  virtual void OnLost(uint32_t node, std::optional<uint32_t> member, const Status& why) = 0;
  // It is about to be lost: its engine ends it, and its ranks have been told to end.
  virtual void OnTakenAway(uint32_t node, std::optional<uint32_t> member, const Status& why) = 0;
  virtual void OnPhase(uint32_t node, v1::NodePhase phase, const std::string& why) = 0;

 protected:
  ~NodeWatchListener() = default;
};

// For the loop's thread.
class NodeWatch final : private NodeListener {
 public:
  // What is given must outlive the watch.
  NodeWatch(const v1::LaunchPlan& plan, std::chrono::milliseconds lease, Loop& loop,
            OutputRouter& output, Console& console, NodeWatchListener& listener);
  ~NodeWatch() { DisconnectAtExit(); }

  // By which to connect again; from now on that is done.
  void ConnectAgainBy(launch::Launcher& launcher) { launcher_ = &launcher; }
  // Ends all connections, with the process: nothing comes from a node any more.
  void DisconnectAtExit();

  // The node has been reached.
  void Add(uint32_t node, const std::shared_ptr<launch::NodeLink>& link);
  // Tries to reach a lost node once more, until the limit.
  void BringBack(uint32_t node, Loop::Time limit);
  void BringBackNoMore();
  // Whether a connection to it is being made.
  bool BeingLinked(uint32_t node) const { return linking_.contains(node); }

  // These nodes are prepared for another attempt.
  void Prepare(const std::vector<uint32_t>& nodes);
  // An attempt begins on these nodes, in the order of its plan; its ranks start afterwards.
  void BeginAttempt(const std::vector<uint32_t>& members);
  void StartRanks();
  // What is running on the nodes is to end, which each is told once; with `leave`, so are the
  // agents.
  void End(std::chrono::milliseconds grace, bool leave);

  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  const std::vector<uint32_t>& members() const { return members_; }
  // Itself thread-safe.
  Node& node(uint32_t node) { return *nodes_[node].node; }
  const Node& node(uint32_t node) const { return *nodes_[node].node; }
  const NodeState& state(uint32_t node) const { return nodes_[node].state; }
  bool All(const std::function<bool(uint32_t node)>& holds) const;
  bool Connected(uint32_t node) const;
  uint32_t connected() const;  // how many, without those that are going
  // Connected, and not about to go.
  bool Stays(uint32_t node) const { return Connected(node) && !nodes_[node].taken_away; }
  // Whether one is about to go.
  bool AnyGoing() const;
  // Whether the agent of every node that is alive has answered, and so will not go by itself.
  bool AllResumed() const;
  bool AnyReconnecting() const { return !reconnecting_.empty(); }
  // Whether nothing of any attempt is left on the node, or it is lost.
  bool AttemptIsOver(uint32_t node) const { return nodes_[node].attempt_over; }
  // Whether the node was lost in this attempt, and its agent was not known to have gone.
  bool WasCutOff(uint32_t node) const { return nodes_[node].cut_off; }
  // Why the node is lost.
  const Status& lost_because(uint32_t node) const { return nodes_[node].lost_because; }

  // To all nodes that are alive.
  void SendToAll(const v1::ChiefMessage& message);
  void StopRanks(std::chrono::milliseconds grace);

  void RenewAll();
  // Whether every node that is connected has answered the last renewal, and so has heard what it
  // was sent before.
  bool AllRenewed() const;
  // The chief itself has been stopped until now.
  void Forgive();

 private:
  struct Watched {
    Watched(std::unique_ptr<Node> its_node, NodeState its_state)
        : node(std::move(its_node)), state(std::move(its_state)) {}
    std::unique_ptr<Node> node;
    NodeState state;
    std::optional<uint32_t> member;
    bool told_to_end = false;  // what it was prepared for, or may still run
    bool attempt_over = false;
    bool cut_off = false;
    bool taken_away = false;  // by its engine, which may give us another in its place
    Status lost_because;
    std::optional<base::Backoff> backoff;  // as long as its connections bring nothing
    uint64_t unheeded = 0;                 // an order that it has not acknowledged
    Loop::Time unheeded_since;
    NodeClock clock;
  };

  // On gRPC's threads.
  void OnEvent(uint32_t node, v1::AgentEvent event) override;
  void OnOutput(uint32_t node, v1::Output output) override;
  void OnClosed(uint32_t node, uint64_t connection, Status status) override;

  // `arrived_ns`: when, since 1970.
  void TakeEvent(uint32_t node, v1::AgentEvent event, int64_t arrived_ns);
  void TakeQuiet();
  void TakeClosed(uint32_t node, uint64_t connection, const Status& status);
  void ConnectAgain(uint32_t node);
  // Whether the connection that has broken now was of any use.
  bool WasOfUse(const Watched& watched) const;
  // By none of its connections has it taken what it is told, for two leases.
  bool HeedsNothing(Watched& watched) const;
  void Linked(uint32_t node, const launch::LaunchedNode& linked);
  void TakeResumed(uint32_t node);
  void Left(uint32_t node);
  void EngineEnds(uint32_t node);
  void SendEnd(Watched& watched);
  void Lose(uint32_t node, const Status& why);
  void LoseUnheard(uint32_t node);
  void Renew(uint32_t node);
  Loop::Time Tick();
  // Whatever changes when a node has to be looked at calls it; what only puts that off need not.
  void CheckSoon(uint32_t node) { checks_.SetEarlier(node, loop_.Now()); }
  Loop::Time Check(uint32_t node);
  const std::string& AddressOf(uint32_t node) const;
  // Of many nodes at the same time, not of each.
  void Tell(base::LogLevel level, uint32_t node, const std::string& what);

  const v1::LaunchPlan& plan_;
  const std::chrono::milliseconds lease_;
  Loop& loop_;
  OutputRouter& output_;
  Console& console_;
  NodeWatchListener& listener_;
  launch::Launcher* launcher_ = nullptr;
  bool bring_back_ = true;
  bool leaving_ = false;
  std::chrono::milliseconds end_grace_{0};   // of the last End
  std::set<uint32_t> linking_;               // nodes that the launcher is busy with
  std::set<uint32_t> reconnecting_;          // those that are cut off
  const std::chrono::milliseconds renewal_;  // the interval
  Loop::Time renew_at_;
  CheckTimes checks_;
  mutable AllHold all_;
  Alike<base::LogLevel> told_;
  std::vector<uint32_t> members_;
  std::vector<Watched> nodes_;
  QuietEvents quiet_;  // most of what comes
};

}  // namespace autodist::chief
